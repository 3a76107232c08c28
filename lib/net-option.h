/* Makes a claim of a spec from the option --net [INTERFACE:]SIZE[/TIME] or --net
 * [INTERFACE:]background. The broker checks sizes, rates and names, as in all specs. */
#ifndef RTF_NET_OPTION_H
#define RTF_NET_OPTION_H

#include <jansson.h>

/* Returns the value of the key "network". The caller frees it. */
json_t *net_option(const char *text);

#endif
