/** For tests: what a server says of three engines. */
import { rememberEngines } from "@/api/engines";

rememberEngines([
  { name: "onnxruntime", title: "ONNX Runtime", color: 0 },
  { name: "openvino", title: "OpenVINO", color: 1 },
  { name: "pytorch", title: "PyTorch", color: 2 },
]);
