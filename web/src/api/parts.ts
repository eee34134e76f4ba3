/** Parts of documents that only one of them has, by name. */
import type {
  AttemptDocument,
  ConversionJobDocument,
  ConversionsDocument,
  DistributionDocument,
  EnginesDocument,
  FetchMessage,
  GraphDocument,
  JudgementDocument,
  operations,
  OverviewDocument,
  ProfileDiffDocument,
  ProgressMessage,
  QueueDocument,
  SystemDocument,
  ViewDocument,
} from "@/api/schema.gen";

type Member<List extends readonly unknown[]> = List[number];
type Body<Name extends keyof operations> = operations[Name] extends { requestBody: { content: { "application/json": infer Json } } } ? Json : never;

export type Attribute = Member<NonNullable<NodeDocument["attributes"]>>;
export type Box = Member<ViewDocument["boxes"]>;
export type CellJudgementDocument = Member<JudgementDocument["cells"]>;
export type ChangeDocument = Member<ProfileDiffDocument["changes"]>;
export type Check = Member<ConversionJobDocument["checks"]>;
export type CoreDocument = Member<QueueDocument["cores"]>;
export type CountsDocument = OverviewDocument["counts"];
export type EngineDocument = Member<EnginesDocument["engines"]>;
export type ExampleRequest = Body<"add_example">;
export type FetchProgress = FetchMessage["data"];
export type GraphTensor = Member<GraphDocument["tensors"]>;
export type ActivityEntry = Member<OverviewDocument["activity"]>;
export type HealthDocument = SystemDocument["health"];
export type InferenceDocument = NonNullable<AttemptDocument["inference"]>;
export type JobProgressDocument = ProgressMessage["data"];
export type LeaderDocument = Member<OverviewDocument["best"]>;
export type MachineDocument = SystemDocument["machine"];
export type NextStep = Member<OverviewDocument["next_steps"]>;
export type NodeDocument = Member<GraphDocument["nodes"]>;
export type OutliersDocument = DistributionDocument["outliers"];
export type PlanBenchmarkRequest = Body<"plan_benchmark">;
export type Possibility = Member<ConversionsDocument["possible"]>;
