"""Functions as ONNX models: a lowering for each primitive, to operators of opset 21."""
