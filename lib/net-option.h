/* --net [INTERFACE:]SIZE[/TIME] or --net [INTERFACE:]background of a command, as the claim of a spec. The broker judges sizes, rates and names, as in all
 * specs. */
#ifndef RTF_NET_OPTION_H
#define RTF_NET_OPTION_H

#include <jansson.h>

/* The value of the key "network". The caller frees it. */
json_t *net_option(const char *text);

#endif
