module rtf

go 1.19
