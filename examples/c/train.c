/* Fits a line to twenty points of 2 x + 1. */
#include "step.h"
#include <stdio.h>

int main(void) {
    double x[20], y[20], slope[1] = {0.0}, offset[1] = {0.0}, error = 0.0;
    int i;
    for (i = 0; i < 20; i++) {
        x[i] = -1.0 + 2.0 * i / 19.0;
        y[i] = 2.0 * x[i] + 1.0;
    }
    for (i = 0; i < 300; i++) {
        int code = step_static(slope, offset, x, y, &error);
        if (code) {
            fprintf(stderr, "%s\n", step_error(code));
            return 1;
        }
    }
    printf("y = %.3f x + %.3f, error %.1e\n", slope[0], offset[0], error);
    return 0;
}
