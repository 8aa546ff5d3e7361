/* Estimates the variances of a random walk and of its noise by gradient descent on the likelihood. */
#include "likelihood.h"
#include "walk.h"
#include <stdio.h>

int main(void) {
    double logarithms[2] = {0.0, 0.0}, value = 0.0, gradient[2];
    int turn, i;
    for (turn = 0; turn < 500; turn++) {
        int code = likelihood_static(logarithms, walk, &value, gradient);
        if (code) {
            fprintf(stderr, "%s\n", likelihood_error(code));
            return 1;
        }
        for (i = 0; i < 2; i++)
            logarithms[i] -= 0.02 * gradient[i];
    }
    printf("-log p = %.4f at log variances %.4f, %.4f\n", value, logarithms[0], logarithms[1]);
    return 0;
}
