/* Of all programs together. */
#ifndef RTF_VERSION
#define RTF_VERSION "1.0"
#endif
