/* Loads the filter of an interface. The filter is a BPF program that returns the class of a packet.
 * A packet counts as reserved only if its socket has both the mark and the ticket of the class
 * (tickets.h). */
#ifndef RTF_NET_PACKET_FILTER_H
#define RTF_NET_PACKET_FILTER_H

enum { TICKETS_OURS = 0x5254 /* the upper half of all marks of rtf */ };

/* Loads the program, and returns its descriptor; -1: errno says why. The program returns the class
 * of a packet; 0: other traffic. sockets: the map with the tickets of sockets. tickets: the map
 * with the tickets of classes. */
int load_filter(int sockets, int tickets);

#endif
