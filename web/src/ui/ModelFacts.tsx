import { Badge, Group, List, Stack, Table, Text, ThemeIcon, Tooltip, UnstyledButton } from "@mantine/core";
import { IconAlertTriangle, IconCheck } from "@tabler/icons-react";
import type { ReactNode } from "react";

import type { ModelDetailsDocument, TensorDocument } from "@/api/schema.gen";
import { bytes, count, plural } from "@/format/numbers";
import { formatName } from "@/format/words";
import { Copy } from "@/ui/Copy";
import { sizesOf, valuesOf, type Size } from "@/ui/tensors";

/** What the file declares, and what we only guess. */
export function ModelFacts({ model }: { model: ModelDetailsDocument }) {
  const facts = model.facts;
  const opset = facts?.opsets[""];
  const isSafe = model.tier === "data";
  return (
    <Stack gap="sm">
      <List spacing={4} size="sm" icon={<Tick />} center>
        <List.Item>
          <Group gap={6}>
            <span>{[model.format ? formatName(model.format) : "Unknown format", opset !== undefined && `opset ${opset}`].filter(Boolean).join(", ")}</span>
            <Dot />
            <Tooltip label={model.size_bytes === null ? "not known" : `${count(model.size_bytes)} bytes, weights beside it included`}>
              <UnstyledButton className="hint">{bytes(model.size_bytes)}</UnstyledButton>
            </Tooltip>
            {facts && (
              <>
                <Dot />
                <span>{plural(facts.parameters, "parameter")}</span>
                <Dot />
                <span>{plural(facts.nodes, "node")}</span>
              </>
            )}
          </Group>
        </List.Item>
        <List.Item icon={isSafe ? <Tick /> : <Warn />}>
          {isSafe
            ? "Safe format: it contains data and no code"
            : model.trust.warning
              ? `${model.trust.warning}.`
              : "Loading this format can run code from the file."}
        </List.Item>
        {model.sha256 && (
          <List.Item>
            <Group gap={4} wrap="nowrap">
              <span>sha256</span>
              <Tooltip label={model.sha256}>
                <UnstyledButton className="hint mono">{model.sha256.slice(0, 12)}…</UnstyledButton>
              </Tooltip>
              <Copy text={model.sha256} label="Copy the checksum" />
            </Group>
          </List.Item>
        )}
        {facts?.made && (
          <List.Item>
            Converted from {facts.made.source} by {facts.made.tool} (
            {Object.entries(facts.made.versions)
              .map(([name, version]) => `${name} ${version}`)
              .join(", ")}
            ): on {plural(facts.made.checks, "input")} it differed by at most {facts.made.max_rel_error.toPrecision(2)} of the largest value
          </List.Item>
        )}
        {model.domain && (
          <List.Item>
            Task:{" "}
            <Guess
              size={{
                text: model.domain.toLowerCase(),
                guess: "Guessed from the model's names, operators and shapes. No measurement depends on it.",
              }}
            />
          </List.Item>
        )}
      </List>
      {facts && <Tensors title="Inputs" tensors={facts.inputs} isInput />}
      {facts && <Tensors title="Outputs" tensors={facts.outputs} />}
      {facts?.notes.map((note) => (
        <Text key={note} size="sm" className="dim">
          {note}
        </Text>
      ))}
    </Stack>
  );
}

function Tensors({ title, tensors, isInput = false }: { title: string; tensors: readonly TensorDocument[]; isInput?: boolean }) {
  if (tensors.length === 0)
    return (
      <Text size="sm" className="dim">
        {title}: not stated in the file.
      </Text>
    );
  return (
    <Table.ScrollContainer minWidth={280} type="native">
      <Table withTableBorder verticalSpacing={6} aria-label={title}>
        <Table.Thead>
          <Table.Tr>
            <Table.Th w="40%">{title}</Table.Th>
            <Table.Th>Type</Table.Th>
            <Table.Th>Shape</Table.Th>
          </Table.Tr>
        </Table.Thead>
        <Table.Tbody>
          {tensors.map((tensor) => (
            <Table.Tr key={tensor.name}>
              <Table.Td className="mono" style={{ overflowWrap: "anywhere" }}>
                {tensor.name}
              </Table.Td>
              <Table.Td className="mono">{tensor.dtype}</Table.Td>
              <Table.Td className="mono">
                <Shape sizes={sizesOf(tensor, isInput)} />
                {isInput && <Values of={valuesOf(tensor)} />}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
    </Table.ScrollContainer>
  );
}

function Shape({ sizes }: { sizes: Size[] | null }) {
  if (!sizes) return <Guess size={{ text: "any", guess: "The file does not state how many dimensions it has." }} />;
  return (
    <>
      [
      {sizes.map((size, index) => (
        <span key={index}>
          {index > 0 && ", "}
          <Guess size={size} />
        </span>
      ))}
      ]
    </>
  );
}

function Values({ of }: { of: Size | null }) {
  if (!of) return null;
  return (
    <Badge ml={8} variant="default" tt="none">
      <Guess size={of} />
    </Badge>
  );
}

/** Dashed if it is a guess; the reason is on hover and on focus. */
function Guess({ size }: { size: Size }): ReactNode {
  if (!size.guess) return size.text;
  return (
    <Tooltip label={size.guess}>
      <UnstyledButton className="hint guess">{size.text}</UnstyledButton>
    </Tooltip>
  );
}

const Dot = () => (
  <span className="dim" aria-hidden>
    ·
  </span>
);
const Tick = () => (
  <ThemeIcon size={18} radius="xl" color="green" variant="light" aria-hidden>
    <IconCheck size={12} />
  </ThemeIcon>
);
const Warn = () => (
  <ThemeIcon size={18} radius="xl" color="orange" variant="light" aria-hidden>
    <IconAlertTriangle size={12} />
  </ThemeIcon>
);
