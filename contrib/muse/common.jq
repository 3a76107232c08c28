# Functions shared by the experiments. $cpus: the number of CPUs of the machine; $seconds: the
# length of each run.

# The CPUs to measure: all but the first one, which is left to other work, if there are more than
# two (paper 004, section 6).
def measured: if $cpus <= 2 then [range($cpus)] else [range(1; $cpus)] end;

def all: {supply: true, runmap: true, migrations: true, statistical: true};

def experiment($threads): {global: {duration: "\($seconds)s", horizon: "\([$seconds * 100, 5000] | min)ms", analysis: {supply: true}}, threads: ($threads | from_entries)};

def compute($loops): {c0: {loops: $loops}};

# $count threads of this kind, NAME1, NAME2, ...
def several($name; $count; f): [range(1; $count + 1) | {key: "\($name)\(.)", value: f}];
