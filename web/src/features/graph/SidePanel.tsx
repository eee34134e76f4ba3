import { ActionIcon, Anchor, Badge, Button, Card, Group, Stack, Table, Text, Title } from "@mantine/core";
import { IconX } from "@tabler/icons-react";
import { memo, type ReactNode } from "react";

import type { Attribute, GraphTensor, NodeDocument } from "@/api/parts";
import type { GraphDocument } from "@/api/schema.gen";
import { scopeAround } from "@/features/graph/arrange";
import type { Times } from "@/features/graph/nodeTimes";
import { milliseconds, msOf } from "@/features/graph/scene";
import { percent, plural, quantity } from "@/format/numbers";
import { Copy } from "@/ui/Copy";

type Props = {
  graph: GraphDocument;
  selected: string | null;
  expanded: readonly string[];
  times: Times | null;
  select: (id: string | null) => void;
  toggle: (scope: string, isOpen: boolean) => void;
  collapse: (scope: string) => void;
};

/** Everything about what is selected; without a selection, the open groups. */
export const SidePanel = memo(function SidePanel(props: Props) {
  const { graph, selected, select } = props;
  if (selected === null) return <OpenGroups {...props} />;
  const what = selected.slice(selected.indexOf(":") + 1);
  const close = (
    <ActionIcon variant="subtle" color="gray" aria-label="Close details" onClick={() => select(null)}>
      <IconX size={16} />
    </ActionIcon>
  );
  if (selected.startsWith("group:")) return <GroupPanel {...props} scope={what} close={close} />;
  const node = selected.startsWith("node:") ? graph.nodes.find((node) => node.id === what) : undefined;
  if (node) return <NodePanel {...props} node={node} close={close} />;
  const tensor = graph.tensors.find((tensor) => tensor.id === what);
  return tensor ? (
    <Panel title={tensor.name} kind={selected.startsWith("input:") ? "Input of the model" : "Output of the model"} close={close}>
      <Text size="sm">{shapeText(tensor)}</Text>
    </Panel>
  ) : null;
});

function Panel({ title, kind, close, children }: { title: string; kind: string; close?: ReactNode; children: ReactNode }) {
  return (
    <Card component="section" aria-label="Details" className="graph-panel">
      <Stack gap="sm">
        <Group justify="space-between" align="flex-start" wrap="nowrap">
          <div>
            <Title order={2} size="h4" style={{ overflowWrap: "anywhere" }}>
              {title}
            </Title>
            <Text size="sm" className="dim" style={{ overflowWrap: "anywhere" }}>
              {kind}
            </Text>
          </div>
          {close}
        </Group>
        {children}
      </Stack>
    </Card>
  );
}

function NodePanel({ graph, node, times, close }: Props & { node: NodeDocument; close: ReactNode }) {
  const tensors = new Map(graph.tensors.map((tensor) => [tensor.id, tensor]));
  const time = times?.byNode.get(node.id);
  const figure = time && quantity(time.ms, time.ci95, "ms");
  return (
    <Panel title={node.op_type} kind={node.domain ? `${node.domain} operator` : "Operator"} close={close}>
      <Group gap={4} wrap="nowrap">
        <Text size="sm" className="mono" style={{ overflowWrap: "anywhere" }}>
          {node.id}
        </Text>
        <Copy text={node.id} label="Copy the name" />
      </Group>
      {times && (
        <Text size="sm">
          {figure ? (
            <>
              <b>
                {figure.value} {figure.spread} ms
              </b>
              , {percent(time.share, 1)} of a call{time.together.length > 0 && `, together with ${namesOf(time.together)}`}
              {time.as !== node.op_type && <span className="dim"> (the engine ran it as {time.as})</span>}
            </>
          ) : (
            <span className="dim">It has no time of its own: the engine removed it or fused it into another node.</span>
          )}
        </Text>
      )}
      <Tensors title="Inputs" ids={node.inputs} tensors={tensors} />
      <Tensors title="Outputs" ids={node.outputs} tensors={tensors} />
      {node.attributes.length > 0 && (
        <div>
          <Text size="sm" fw={600}>
            Attributes
          </Text>
          <Table layout="fixed" aria-label="Attributes">
            <Table.Tbody>
              {node.attributes.map((attribute) => (
                <Table.Tr key={attribute.name}>
                  <Table.Th scope="row" fw={400} style={{ overflowWrap: "anywhere" }}>
                    {attribute.name}
                  </Table.Th>
                  <Table.Td style={{ overflowWrap: "anywhere" }}>{attributeText(attribute)}</Table.Td>
                </Table.Tr>
              ))}
            </Table.Tbody>
          </Table>
        </div>
      )}
    </Panel>
  );
}

function Tensors({ title, ids, tensors }: { title: string; ids: readonly (string | null)[]; tensors: ReadonlyMap<string, GraphTensor> }) {
  return (
    <div>
      <Text size="sm" fw={600}>
        {title}
      </Text>
      <Stack gap={4}>
        {ids.map((id, index) => {
          const tensor = id === null ? undefined : tensors.get(id);
          if (!tensor)
            return (
              <Text key={index} size="sm" className="dim">
                left out
              </Text>
            );
          return (
            <Text key={index} size="sm" component="div" style={{ overflowWrap: "anywhere" }}>
              <span className="mono">{tensor.name}</span>{" "}
              {tensor.kind === "initializer" && (
                <Badge size="sm" variant="default" tt="none">
                  weight
                </Badge>
              )}
              <br />
              <span className="dim">{shapeText(tensor)}</span>
            </Text>
          );
        })}
      </Stack>
    </div>
  );
}

function GroupPanel({ graph, scope, expanded, times, select, toggle, close }: Props & { scope: string; close: ReactNode }) {
  const group = graph.groups.find((group) => group.scope === scope);
  const isOpen = expanded.includes(scope);
  const ms = msOf(`group:${scope}`, times);
  const around = scopeAround(scope);
  return (
    <Panel title={scope.slice(scope.lastIndexOf("/") + 1)} kind={`Group of ${plural(group?.nodes ?? 0, "node")}`} close={close}>
      {ms !== null && times && (
        <Text size="sm">
          <b>{milliseconds(ms)}</b> in its nodes, {percent(times.latencyMs > 0 ? ms / times.latencyMs : 0, 1)} of a call
        </Text>
      )}
      <Group gap="xs">
        <Button size="xs" variant="light" onClick={() => toggle(scope, isOpen)}>
          {isOpen ? "Close group" : "Open group"}
        </Button>
        {around !== "" && (
          <Button size="xs" variant="default" onClick={() => select(`group:${around}`)}>
            Group around it
          </Button>
        )}
      </Group>
      <Table aria-label="Operators in this group">
        <Table.Thead>
          <Table.Tr>
            <Table.Th>Operator</Table.Th>
            <Table.Th ta="right">Nodes</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {Object.entries(group?.nodes_by_op ?? {}).map(([op, nodes]) => (
            <Table.Tr key={op}>
              <Table.Td style={{ overflowWrap: "anywhere" }}>{op}</Table.Td>
              <Table.Td ta="right">{nodes}</Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Panel>
  );
}

function OpenGroups({ graph, expanded, select, collapse }: Props) {
  return (
    <Panel title={graph.name || "Graph"} kind={`${plural(graph.nodes.length, "node")}, ${plural(graph.groups.length, "group")}`}>
      <Text size="sm" className="dim">
        Click a box to see its shapes and attributes. + opens a group, − closes it.
      </Text>
      {graph.notes.map((note) => (
        <Text key={note} size="sm">
          {note}
        </Text>
      ))}
      {expanded.length > 0 && (
        <div>
          <Text size="sm" fw={600}>
            Open groups
          </Text>
          <Stack gap={2} mah={320} style={{ overflowY: "auto" }} tabIndex={0} role="region" aria-label="Open groups">
            {expanded.map((scope) => (
              <Group key={scope} gap={4} wrap="nowrap" justify="space-between">
                <Anchor component="button" type="button" size="sm" ta="left" style={{ overflowWrap: "anywhere" }} onClick={() => select(`group:${scope}`)}>
                  {scope}
                </Anchor>
                <ActionIcon variant="subtle" color="gray" aria-label={`Close group ${scope}`} onClick={() => collapse(scope)}>
                  <IconX size={14} />
                </ActionIcon>
              </Group>
            ))}
          </Stack>
        </div>
      )}
    </Panel>
  );
}

const NAMED = 3;

/** The first few of them: a fused block may have dozens. */
function namesOf(ids: readonly string[]): string {
  const rest = ids.length - NAMED;
  return [...ids.slice(0, NAMED), ...(rest > 0 ? [`${rest} more`] : [])].join(", ");
}

export function shapeText(tensor: Pick<GraphTensor, "dtype" | "shape">): string {
  const shape = tensor.shape === null ? "shape unknown" : `[${tensor.shape.map((dim) => dim ?? "?").join(", ")}]`;
  return `${tensor.dtype ?? "type unknown"} ${shape}`;
}

function attributeText(attribute: Attribute): string {
  const value = Array.isArray(attribute.value) ? `[${attribute.value.join(", ")}]` : attribute.value === null ? "" : String(attribute.value);
  return [value, attribute.note].filter(Boolean).join(" · ");
}
