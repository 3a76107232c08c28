/* --net [INTERFACE:]SIZE[/TIME] or [INTERFACE:]background, as commands take it: a claim on a network, as a spec has it. Sizes, rates and names are judged
 * where all specs are. */
#ifndef RTF_NET_OPTION_H
#define RTF_NET_OPTION_H

#include <jansson.h>

/* The object behind "network", the caller's. */
json_t *net_option(const char *text);

#endif
