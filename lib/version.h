/* Of all programs together. */
#ifndef RTF_VERSION
#define RTF_VERSION "0.1"
#endif
