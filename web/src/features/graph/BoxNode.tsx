import type { Node, NodeProps } from "@xyflow/react";
import { memo } from "react";

import type { Box } from "@/api/parts";
import type { Look } from "@/features/graph/colouring";
import type { Written } from "@/features/graph/sizes";

type NodeActions = { toggle: (scope: string, isOpen: boolean) => void; near: (scope: string) => void };
export type BoxNodeType = Node<NodeActions & { box: Box; text: Written | undefined; look: Look; isSelected: boolean }, "box">;
export type FrameNodeType = Node<{ scope: string; isSelected: boolean }, "frame">;
export type HeadNodeType = Node<NodeActions & { scope: string; text: Written | undefined }, "head">;

/** Plain elements: there may be hundreds in view. */
export const BoxNode = memo(function BoxNode({ data }: NodeProps<BoxNodeType>) {
  const { box, text, look, isSelected, toggle, near } = data;
  const isGroup = box.kind === "group";
  return (
    <div
      className="graph-box"
      data-kind={box.kind}
      data-box={box.id}
      data-selected={isSelected || undefined}
      style={{ background: look.fill, borderColor: look.edge, borderInlineStartColor: look.mark }}
      onPointerEnter={isGroup ? () => near(box.of) : undefined}
    >
      {isGroup && <Toggle scope={box.of} label={box.label} isOpen={false} toggle={toggle} />}
      <Words text={text} />
    </div>
  );
});

export const FrameNode = memo(function FrameNode({ data }: NodeProps<FrameNodeType>) {
  return <div className="graph-frame" data-box={`group:${data.scope}`} data-selected={data.isSelected || undefined} />;
});

/** The name of an open group: above the lines that cross its frame. */
export const HeadNode = memo(function HeadNode({ data }: NodeProps<HeadNodeType>) {
  const { scope, text, toggle } = data;
  return (
    <div className="graph-head" data-head={scope}>
      <Toggle scope={scope} label={scope.slice(scope.lastIndexOf("/") + 1)} isOpen toggle={toggle} />
      <Words text={text} />
    </div>
  );
});

function Toggle({ scope, label, isOpen, toggle }: { scope: string; label: string; isOpen: boolean; toggle: NodeActions["toggle"] }) {
  return (
    <button
      type="button"
      className="graph-toggle"
      tabIndex={-1}
      aria-label={`${isOpen ? "Close" : "Open"} ${label}`}
      onClick={(event) => {
        event.stopPropagation();
        toggle(scope, isOpen);
      }}
    >
      {isOpen ? "−" : "+"}
    </button>
  );
}

function Words({ text }: { text: Written | undefined }) {
  return (
    <div className="graph-words">
      {text?.title.map((line, index) => (
        <div key={index} className="graph-title">
          {line}
        </div>
      ))}
      {text?.name.map((line, index) => (
        <div key={index} className="graph-name">
          {line}
        </div>
      ))}
    </div>
  );
}
