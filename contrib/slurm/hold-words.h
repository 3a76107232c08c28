/* The words of a holder (rtf-slurm-hold.c) for gang.c: one line on its standard output. */
#ifndef RTF_SLURM_HOLD_WORDS_H
#define RTF_SLURM_HOLD_WORDS_H

#define HOLD_HELD    "held"
#define HOLD_REFUSED "refused " /* and a sentence */

#endif
