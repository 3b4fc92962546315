/* For programs that know what is right, and print nothing but failures. */
#include "say.h"

static int failures;

#define IS(call, wanted)                                                                        \
	do {                                                                                        \
		int is_rc = (call);                                                                     \
		if (is_rc != (wanted)) {                                                                \
			printf("%s:%d %d, not %d\n", __func__, __LINE__, is_rc, wanted);                    \
			failures++;                                                                         \
		}                                                                                       \
	} while (0)
