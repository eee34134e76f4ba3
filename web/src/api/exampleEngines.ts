/** For tests: three engines, as a server lists them. */
import { rememberEngines } from "@/api/engines";

rememberEngines([
  { name: "onnxruntime", title: "ONNX Runtime", color: 0 },
  { name: "openvino", title: "OpenVINO", color: 1 },
  { name: "pytorch", title: "PyTorch", color: 2 },
]);
