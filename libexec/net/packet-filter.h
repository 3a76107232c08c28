/* The filter of an interface: a BPF program that returns the class of a packet. A packet counts as
 * reserved only if its socket has both the mark and the ticket of the class (tickets.h). */
#ifndef RTF_NET_PACKET_FILTER_H
#define RTF_NET_PACKET_FILTER_H

enum { TICKETS_OURS = 0x5254 /* the upper half of all our marks */ };

/* Loads the program, which returns a packet's class; 0: other traffic. sockets, tickets: the maps
 * of the sockets' tickets and of the classes' tickets. Returns a descriptor; -1 with errno. */
int load_filter(int sockets, int tickets);

#endif
