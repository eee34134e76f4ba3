import { NAMED_COUNTS, countWords, sizeWords, sizesOf, type CountName } from "@/api/axes";

/** Names as people know them. */
const ENGINES: Record<string, string> = {
  onnxruntime: "ONNX Runtime",
  pytorch: "PyTorch",
  openvino: "OpenVINO",
  tensorflow: "TensorFlow",
  litert: "LiteRT",
  scripted: "Scripted",
};
const FORMATS: Record<string, string> = {
  onnx: "ONNX",
  torchscript: "TorchScript",
  "openvino-ir": "OpenVINO IR",
  "tf-graph": "TensorFlow graph",
  "saved-model": "SavedModel",
  keras: "Keras",
  litert: "LiteRT",
  "torch-export": "PyTorch export",
  "torch-checkpoint": "PyTorch checkpoint",
  scripted: "Script",
};

export const engineName = (engine: string): string => ENGINES[engine] ?? engine;
export const formatName = (format: string): string => FORMATS[format] ?? format;

/** The engine of tests only does what its file says: nobody looks for it on a machine. Projects with such a file offer it. */
export const isForPeople = (engine: { name: string }): boolean => engine.name !== "scripted";

/** "ONNX Runtime · 2 cores": an engine at the beginning by the name that people know. */
export function withEngine(text: string): string {
  return text.replace(/^\w+(?= · )/, engineName);
}

export function sentence(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** "4 cores · batch 8 · seq 128", as cells are told apart. */
export function cellName(cell: Partial<Record<CountName, number>>): string {
  const words = NAMED_COUNTS.flatMap((axis) => {
    const value = cell[axis.name] ?? axis.usual;
    return axis.is_always_named || value !== axis.usual ? [countWords(axis, value)] : [];
  });
  return [...words, ...sizeWords(sizesOf(cell))].join(" · ");
}
