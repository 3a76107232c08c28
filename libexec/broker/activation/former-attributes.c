#include "former-attributes.h"

#include "given-extras.h"
#include "shares.h"

bool former_attributes_record(struct request *request)
{
    struct attachment *attachment = request->reservation->attachment;
    shares_note_former(attachment);
    extras_note_former(attachment);
    return request_record(request);
}
