import { COUNT_AXES } from "@/api/axes";
import type { BenchmarkDetailsDocument } from "@/api/schema.gen";

const shellQuoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

/** A file name that a terminal takes as it is. */
export function plainName(name: string): string {
  return name.replace(/[^\w.-]+/g, "_").replace(/^[-.]+/, "") || "model";
}

/** What repeats a benchmark elsewhere; each text runs as it is pasted. The token is a variable: it stays out of histories. */
export function reproductions(benchmark: BenchmarkDetailsDocument, origin: string): { name: string; text: string; language: string }[] {
  const settings = benchmark.settings;
  // A client cannot ask for less than the usual walls.
  const sandbox = settings.sandbox === "required" ? "required" : "on";
  const body = { project_id: benchmark.project_id, model_id: benchmark.model_id, ...settings, sandbox };
  const token = `-H "Authorization: Bearer $MODELDYNO_TOKEN"`;
  const set = 'export MODELDYNO_TOKEN="${MODELDYNO_TOKEN:-$(modeldyno token)}"';
  const file = plainName(benchmark.model_name);
  const command = benchmark.command.replace(/^(modeldyno bench )('(?:[^']|'\\'')*'|\S+)/, (_, head: string) => `${head}${file}`);
  return [
    { name: "CLI", language: "shell", text: [set, `curl -sSf ${token} -o ${file} ${origin}/api/v1/models/${benchmark.model_id}/file`, command].join("\n") },
    {
      name: "curl",
      language: "shell",
      text: `${set}\ncurl -sSf ${token} -H 'Content-Type: application/json' \\\n  -d ${shellQuoted(JSON.stringify(body))} \\\n  ${origin}/api/v1/benchmarks`,
    },
    { name: "Python", language: "python", text: pythonScript(benchmark, origin) },
    { name: "config JSON", language: "json", text: JSON.stringify(body, null, 2) },
  ];
}

/** A JSON value as Python writes it. */
function pythonLiteral(value: unknown): string {
  if (value === null) return "None";
  if (typeof value === "boolean") return value ? "True" : "False";
  if (Array.isArray(value)) return `[${value.map(pythonLiteral).join(", ")}]`;
  if (typeof value === "object")
    return `{${Object.entries(value)
      .map(([key, item]) => `${pythonLiteral(key)}: ${pythonLiteral(item)}`)
      .join(", ")}}`;
  return JSON.stringify(value);
}

function pythonScript(benchmark: BenchmarkDetailsDocument, origin: string): string {
  const settings = benchmark.settings;
  const budget = { quick: { quick: true }, thorough: { thorough: true }, default: {} };
  const args: Record<string, unknown> = {
    project: benchmark.project_id,
    engine: settings.engines,
    ...Object.fromEntries(COUNT_AXES.map(({ short, field }) => [short, settings[field]])),
    device: settings.devices,
    precision: settings.precisions,
    contract: settings.contract,
    spin: settings.spinning,
    dims: settings.dims,
    values: settings.values,
    inputs: settings.inputs,
    signature: settings.signature,
    options: settings.options,
    ...(typeof settings.budget === "number" ? { budget: settings.budget } : budget[settings.budget]),
    iterations: settings.iterations,
    warmup: settings.warmup,
    per_call: settings.per_call,
    timeout: settings.timeout_s,
    seed: settings.seed,
  };
  const counts = COUNT_AXES.filter((axis) => !axis.is_always_named).map((axis) => [axis.short, pythonLiteral([axis.usual])] as const);
  const usual: Record<string, string> = { ...Object.fromEntries(counts), device: '["cpu"]', contract: '"api"', per_call: "False", timeout: "600", seed: "0" };
  const argLines = Object.entries(args)
    .map(([name, value]) => [name, pythonLiteral(value)] as const)
    .filter(([name, text]) => text !== usual[name] && !["None", "[]", "{}"].includes(text))
    .map(([name, text]) => `    ${name}=${text},`);
  return [
    "# First, in the shell: export MODELDYNO_TOKEN=$(modeldyno token)",
    "import os",
    "",
    "import modeldyno as md",
    "",
    `client = md.Client(${pythonLiteral(origin)}, token=os.environ.get("MODELDYNO_TOKEN"))`,
    "result = client.bench(",
    `    ${benchmark.model_id},`,
    ...argLines,
    ")",
    "print(result)",
  ].join("\n");
}
