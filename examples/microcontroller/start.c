/* Start-up code of a Cortex-M: a vector table, the floating-point unit, and a C library that prints on the host. */
#include <stdint.h>

void reset(void);
void _init(void);
void _fini(void);
extern void initialise_monitor_handles(void);
extern int main(void);
extern void exit(int code);
extern uint32_t stack_top;
extern char bss_start, bss_end;

#define CPACR (*(volatile uint32_t *)0xE000ED88)

void reset(void) {
    char *byte;
    CPACR |= 0xFu << 20; /* full access to the floating-point unit */
    for (byte = &bss_start; byte < &bss_end; byte++)
        *byte = 0;
    initialise_monitor_handles();
    exit(main());
}

static void fault(void) {
    exit(99);
}

void _init(void) {}
void _fini(void) {}

struct vectors {
    uint32_t *stack;
    void (*handlers[15])(void);
};

__attribute__((section(".vectors"), used)) static const struct vectors vectors = {
    &stack_top, {reset, fault, fault, fault, fault, fault}};
