/* The words that a holder (rtf-slurm-hold.c) prints for gang.c, in one line on its standard
 * output. */
#ifndef RTF_SLURM_HOLD_WORDS_H
#define RTF_SLURM_HOLD_WORDS_H

#define HOLD_HELD    "held"
#define HOLD_REFUSED "refused " /* a sentence follows */

#endif
