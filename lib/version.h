/* The version of all programs. */
#ifndef RTF_VERSION
#define RTF_VERSION "1.0"
#endif
