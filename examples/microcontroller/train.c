/* Trains a network: 200 steps, and the loss at every fiftieth. */
#include "data.h"
#include "step.h"
#include <stdio.h>

int main(void) {
    float loss = 0.0f;
    int number;
    for (number = 1; number <= 200; number++) {
        int code = step_static(w1, b1, w2, b2, x, y, &loss);
        if (code) {
            puts(step_error(code));
            return 1;
        }
        if (number == 1 || number % 50 == 0)
            printf("step %3d: loss %.4f\n", number, (double)loss);
    }
    return 0;
}
