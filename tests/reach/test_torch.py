"""Functions of Wengert in PyTorch, and PyTorch's in programs: values, derivatives, dtypes, memory, errors."""

from __future__ import annotations

import doctest

import numpy as np
import pytest

import wengert as wg
from wengert.interop import from_torch, to_torch
from wengert.interop import torch as page

torch = pytest.importorskip("torch")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
]
func = torch.func


def energy(x):
    return np.sum(np.sin(x) ** 2 * x[0])


def energy_of_tensors(x):
    return (torch.sin(x) ** 2 * x[0]).sum()


def layer(p, x):
    return {"out": np.tanh(x @ p["w"] + p["b"]), "top": np.argmax(x, axis=-1)}


TRANSFORMS = {
    "grad": func.grad,
    "hessian": func.hessian,
    "jacfwd of jacfwd": lambda f: func.jacfwd(func.jacfwd(f)),
    "jacrev of jacrev": lambda f: func.jacrev(func.jacrev(f)),
    "jacrev of jacfwd": lambda f: func.jacrev(func.jacfwd(f)),
    "vmap of grad": lambda f: lambda x: func.vmap(func.grad(f))(torch.stack([x, 2 * x])),
    "vmap of hessian": lambda f: lambda x: func.vmap(func.hessian(f))(torch.stack([x, 2 * x])),
    "grad of a sum of vmap": lambda f: func.grad(lambda x: func.vmap(f)(torch.outer(x, x)).sum()),
}
OURS = {
    "value": lambda f: f,
    "grad": wg.grad,
    "hessian": wg.hessian,
    "jacfwd of jacfwd": lambda f: wg.jacfwd(wg.jacfwd(f)),
    "jacrev of jacrev": lambda f: wg.jacrev(wg.jacrev(f)),
    "jvp": lambda f: lambda x: wg.jvp(f, (x,), (x + 1,))[1],
    "vmap of grad": lambda f: lambda x: wg.vmap(wg.grad(f))(np.stack([x, 2 * x])),
    "scan": lambda f: lambda x: wg.scan(lambda c, _: (c + f(c * x), None), 0.5, length=3)[0],
}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_of_torch(name):
    x = torch.tensor([0.3, -1.2, 0.7], dtype=torch.float64)
    transform = TRANSFORMS[name]
    torch.testing.assert_close(
        transform(to_torch(energy))(x), transform(energy_of_tensors)(x), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("name", OURS)
def test_transforms_of_wengert(name):
    x = np.array([0.3, -1.2, 0.7])
    transform, ours = OURS[name], from_torch(energy_of_tensors)
    expected = transform(energy)(x)
    np.testing.assert_allclose(transform(ours)(x), expected, rtol=1e-12)
    np.testing.assert_allclose(wg.jit(transform(ours))(x), expected, rtol=1e-12)


def test_gradcheck_of_second_order_and_batches():
    x = torch.randn(4, 3, dtype=torch.float64, requires_grad=True)
    w = torch.randn(3, 2, dtype=torch.float64, requires_grad=True)
    product = to_torch(lambda x, w: np.sum(np.sin(x) @ w, axis=-1) * w[0])
    x2 = torch.randn(2, 3, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(product, (x2, w), check_forward_ad=True)
    assert torch.autograd.gradgradcheck(product, (x2, w), check_fwd_over_rev=True)
    summed = to_torch(lambda x, w: np.sum(np.sin(x) @ w, axis=-1))
    batched = func.vmap(summed, in_dims=(0, None))(torch.stack([x, 2 * x]), w)
    torch.testing.assert_close(batched, torch.stack([summed(x, w), summed(2 * x, w)]))
    transposed = func.vmap(summed, in_dims=(1, None))(torch.stack([x, 2 * x], 1), w)
    torch.testing.assert_close(transposed, batched)


def test_complex_gradients_have_the_conventions_of_each():
    z = torch.tensor([1 + 2j, 0.5 - 1j], dtype=torch.complex128, requires_grad=True)
    assert torch.autograd.gradcheck(to_torch(lambda z: z**2 * np.conj(z[0])), (z,), check_forward_ad=True)
    ours, theirs = to_torch(lambda z: np.sum(np.abs(z) ** 2)), lambda z: (z.abs() ** 2).sum()
    torch.testing.assert_close(func.grad(ours)(z.detach()), func.grad(theirs)(z.detach()))
    torch.testing.assert_close(ours(z.detach().conj()), theirs(z.detach()))
    array = z.detach().numpy()
    expected = wg.grad(lambda z: np.sum(np.abs(z) ** 2))(array)
    np.testing.assert_allclose(wg.grad(from_torch(theirs))(array), expected)


def test_containers_dtypes_and_inputs_without_a_gradient():
    p = {"w": torch.randn(3, 2, requires_grad=True), "b": torch.zeros(2)}
    x = torch.randn(5, 3)
    result = to_torch(layer)(p, x)
    assert result["out"].dtype == torch.float32
    assert result["out"].requires_grad
    assert result["top"].dtype == torch.int64
    assert not result["top"].requires_grad
    torch.testing.assert_close(result["out"], torch.tanh(x @ p["w"] + p["b"]))
    result["out"].sum().backward()
    expected = torch.autograd.grad(torch.tanh(x @ p["w"] + p["b"]).sum(), p["w"])[0]
    torch.testing.assert_close(p["w"].grad, expected)
    assert p["b"].grad is None
    scaled = to_torch(lambda x, scale, power: (scale * x) ** power)
    assert scaled(x, 0.5, 2).dtype == torch.float32  # a float takes the dtype, an integer is a setting
    torch.testing.assert_close(scaled(x, 0.5, 2), (0.5 * x) ** 2)
    torch.testing.assert_close(scaled(x, x.numpy(), power=3), (x * x) ** 3)
    indices = torch.tensor([2, 0], dtype=torch.int32)
    torch.testing.assert_close(to_torch(lambda x, i: x[i])(x, indices), x[[2, 0]])


@pytest.mark.parametrize("shape", [(), (0,), (2, 3), (1, 4)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int64", "bool", "complex64"])
def test_shapes_and_dtypes_go_both_ways(shape, dtype):
    x = torch.ones(shape, dtype=getattr(torch, dtype))
    there = to_torch(lambda x: (x, np.reshape(x, -1)))(x)
    assert [(v.shape, v.dtype) for v in there] == [(x.shape, x.dtype), (x.reshape(-1).shape, x.dtype)]
    back = from_torch(lambda x: (x, x.reshape(-1)))(x.numpy())
    assert [(v.shape, str(v.dtype)) for v in back] == [(shape, dtype), ((x.numel(),), dtype)]
    assert not np.shares_memory(back[0], x.numpy())


def test_strided_and_read_only_arrays():
    x = torch.arange(12.0, dtype=torch.float64).reshape(3, 4)
    torch.testing.assert_close(to_torch(np.cumsum)(x.T[::2]), torch.cumsum(x.T[::2].reshape(-1), 0))
    array = x.numpy().copy()
    fixed = array[::-1, 1::2]
    fixed.flags.writeable = False
    np.testing.assert_array_equal(from_torch(torch.exp)(fixed), torch.exp(torch.tensor(fixed.copy())).numpy())


def test_a_compiled_program_calls_torch_where_it_stands():
    module = torch.nn.Linear(3, 1).double()

    def loss(p, x):
        return np.sum(np.sin(from_torch(torch.func.functional_call)(module, p, x)) ** 2)

    def loss_of_tensors(p, x):
        return (torch.func.functional_call(module, p, x).sin() ** 2).sum()

    p = {name: value.detach() for name, value in module.named_parameters()}
    x = torch.randn(6, 3, dtype=torch.float64)
    arrays = {name: value.numpy() for name, value in p.items()}
    for slope in (wg.grad(loss), wg.jit(wg.grad(loss))):
        got = slope(arrays, x.numpy())
        for name, expected in func.grad(loss_of_tensors)(p, x).items():
            np.testing.assert_allclose(got[name], expected.numpy(), rtol=1e-12)


def test_errors_name_what_is_wrong():
    with pytest.raises(wg.errors.DtypeError, match=r"to_torch\(sin\).*Wengert has.*bfloat16"):
        to_torch(np.sin)(torch.ones(2, dtype=torch.bfloat16))
    with pytest.raises(wg.errors.DtypeError, match=r"processor.*meta.*x\.cpu"):
        to_torch(np.sin)(torch.ones(2, device="meta"))
    with pytest.raises(wg.errors.DtypeError, match="must return arrays"):
        to_torch(lambda x: "text")(torch.ones(2))
    with pytest.raises(wg.errors.DtypeError, match="must return arrays"):
        from_torch(lambda x: "text")(np.ones(2))
    with pytest.raises(wg.errors.UnsupportedError, match="write into its arguments"):
        from_torch(lambda x: x.add_(1.0))(np.ones(2))
    with pytest.raises(wg.errors.ArgumentError, match="takes a function"):
        to_torch(3)
    with pytest.raises(RuntimeError, match="mat1 and mat2"):  # PyTorch's own
        from_torch(lambda x: x @ x)(np.ones((2, 3)))
    calls = []
    changing = from_torch(lambda x: calls.append(0) or (x if len(calls) < 2 else x.float()))
    changing(np.ones(2))
    with pytest.raises(wg.errors.DtypeError, match=r"must return f64\[2\], as for other values"):
        changing(np.ones(2))


def test_an_array_may_change_before_the_pass_backward():
    x, data = torch.ones(3, requires_grad=True), np.full(3, 2.0, np.float32)
    value = to_torch(lambda x, data: np.sum(x * data))(x, data)
    data[:] = 9.0
    value.backward()
    torch.testing.assert_close(x.grad, torch.full((3,), 2.0))


def test_what_does_not_work_is_refused():
    with pytest.raises(wg.errors.UnsupportedError, match=r"to_torch\(sin\): make_fx cannot trace it"):
        torch.func.linearize(to_torch(np.sin), torch.ones(3))
    x = torch.ones(3, requires_grad=True)
    y = to_torch(np.sin)(x)
    with pytest.raises(RuntimeError, match=r"[Bb]atching rule|vmap"):
        torch.autograd.grad(y, x, torch.eye(3), is_grads_batched=True)
    x = torch.ones(3, requires_grad=True)
    y = to_torch(np.sin)(x)
    with torch.no_grad():
        x += 1
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()


def test_a_step_of_training_and_torch_compile():
    x = torch.randn(20, 3)
    target = to_torch(lambda x: np.sin(x[:, :1]))(x)
    model = torch.nn.Linear(3, 1)
    loss = to_torch(lambda out, target: np.mean((out - target) ** 2))
    optimiser = torch.optim.SGD(model.parameters(), 0.1)
    values = []
    for _ in range(20):
        optimiser.zero_grad()
        value = loss(model(x), target)
        value.backward()
        optimiser.step()
        values.append(value.item())
    assert values[-1] < 0.5 * values[0]
    compiled = torch.compile(lambda x: loss(x * 2, target) + 1, backend="eager")
    torch.testing.assert_close(compiled(target), loss(target * 2, target) + 1)


def test_memory_is_shared_by_dlpack():
    array = np.arange(6.0).reshape(2, 3)
    assert np.shares_memory(torch.from_dlpack(array).numpy(), array)
    seen = []
    from_torch(lambda x: seen.append(x.data_ptr()) or x.sum())(array)
    assert seen == [array.ctypes.data]
    tensor = torch.arange(4.0)
    where = wg.array_api.from_dlpack(tensor, device="cpu", copy=True)
    np.testing.assert_array_equal(np.asarray(where), tensor.numpy())
    constant = wg.Constant(array)
    np.testing.assert_array_equal(torch.from_dlpack(constant).numpy(), array)
    with pytest.raises(wg.errors.LostDerivativeError, match="from_dlpack"):
        wg.grad(lambda x: torch.from_dlpack(x).sum())(array)


def test_examples_of_docstrings():
    text = {name: getattr(page, name).__doc__.replace("# doctest: +SKIP", "") for name in page.__all__}
    for name, docstring in text.items():
        examples = doctest.DocTestParser().get_doctest(docstring, vars(page).copy(), name, None, None)
        assert doctest.DocTestRunner().run(examples).failed == 0
