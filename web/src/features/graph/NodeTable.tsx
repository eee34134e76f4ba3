import { useMemo } from "react";

import type { GraphDocument } from "@/api/schema.gen";
import { findNodes } from "@/features/graph/find";
import type { Times } from "@/features/graph/nodeTimes";
import { milliseconds } from "@/features/graph/scene";
import { shapeText } from "@/features/graph/SidePanel";
import { percent } from "@/format/numbers";
import { DataTable, type Column } from "@/ui/DataTable";

type Row = { id: string; op: string; scope: string; output: string; ms: number | null; share: number | null; isShared: boolean };

/** The same graph as a table: every node, sortable. */
export function NodeTable({ graph, times, text, open }: { graph: GraphDocument; times: Times | null; text: string; open: (id: string) => void }) {
  const rows = useMemo(() => {
    const tensors = new Map(graph.tensors.map((tensor) => [tensor.id, tensor]));
    const nodes = text.trim() === "" ? graph.nodes : findNodes(graph.nodes, text);
    return nodes.map((node): Row => {
      const first = tensors.get(node.outputs[0] ?? "");
      const time = times?.byNode.get(node.id);
      return {
        id: node.id,
        op: node.op_type,
        scope: node.scope,
        output: first ? shapeText(first) : "",
        ms: time?.ms ?? null,
        share: time?.share ?? null,
        isShared: (time?.together.length ?? 0) > 0,
      };
    });
  }, [graph, times, text]);
  const columns: Column<Row>[] = [
    { id: "op", header: "Operator", value: (row) => row.op },
    { id: "node", header: "Node", value: (row) => row.id },
    { id: "group", header: "Group", value: (row) => row.scope },
    { id: "output", header: "Output", value: (row) => row.output },
    ...(times
      ? [
          {
            id: "time",
            header: "Time",
            value: (row: Row) => row.ms,
            show: (row: Row) => (row.ms === null ? "–" : `${milliseconds(row.ms)}${row.isShared ? " together" : ""}`),
            isNumber: true,
          },
          {
            id: "share",
            header: "Share",
            value: (row: Row) => row.share,
            show: (row: Row) => (row.share === null ? "–" : percent(row.share, 1)),
            isNumber: true,
          },
        ]
      : []),
  ];
  return <DataTable label="Nodes of the graph" rows={rows} columns={columns} rowId={(row) => row.id} open={(row) => open(row.id)} />;
}
