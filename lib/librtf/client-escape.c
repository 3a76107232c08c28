#include <stdio.h>
#include <string.h>

#include "client.h"

/* Takes the next UTF-8 character. A byte that is in no valid UTF-8 sequence counts as a
 * character. */
static unsigned take_character(const char **text)
{
    const unsigned char *at = (const unsigned char *)*text;
    const int more = at[0] >= 0xf0 ? 3 : at[0] >= 0xe0 ? 2 : at[0] >= 0xc2 ? 1 : 0;
    unsigned character = more == 0 ? at[0] : at[0] & (0x3fU >> more);
    for (int i = 1; i <= more; i++) {
        if ((at[i] & 0xc0) != 0x80) {
            ++*text;
            return at[0];
        }
        character = character << 6 | (at[i] & 0x3fU);
    }
    *text += more + 1;
    return character;
}

int client_escape(const char **text, char piece[static CLIENT_PIECE])
{
    const unsigned character = take_character(text);
    if (character >= ' ' && character <= '~')
        return snprintf(piece, CLIENT_PIECE, "%c", (int)character);
    if (character <= 0xffff)
        return snprintf(piece, CLIENT_PIECE, "\\u%04x", character);
    return snprintf(piece, CLIENT_PIECE, "\\u%04x\\u%04x", 0xd7c0 + (character >> 10),
                    0xdc00 + (character & 0x3ff));
}

char *client_printable(const char *text, char *printable, size_t size)
{
    char piece[CLIENT_PIECE];
    size_t used = 0;
    printable[0] = '\0';
    while (*text != '\0') {
        const size_t length = (size_t)client_escape(&text, piece);
        if (used + length >= size)
            break;
        memcpy(printable + used, piece, length + 1);
        used += length;
    }
    return printable;
}
