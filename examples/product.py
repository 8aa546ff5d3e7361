"""The graph of (x + y) z at (-2, 5, -4): a forward pass to -12, and a backward pass to the derivatives."""

import wengert as wg

x, y, z = wg.Variable(-2.0), wg.Variable(5.0), wg.Variable(-4.0)
q = x + y
f = q * z
f.backward()

print(f"q = {q.value:g}, f = {f.value:g}")
print(f"df/dx = {x.grad:g}, df/dy = {y.grad:g}, df/dz = {z.grad:g}")
