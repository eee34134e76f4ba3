import { KINDS } from "@/kinds/kinds";

type ProjectPage = {
  path: string;
  label: string;
  /** Its name among pages of everything else. */
  fullName?: string;
  /** What the server counts of it. */
  counts?: string;
};

const ofKinds: readonly ProjectPage[] = Object.entries(KINDS).flatMap(([kind, { tab }]) =>
  tab ? [{ path: tab.path, label: tab.label, counts: tab.isCounted ? kind : undefined }] : [],
);

/** The pages of a project, in the order of its tabs. */
export const PROJECT_PAGES: readonly ProjectPage[] = [
  { path: "", label: "Overview" },
  { path: "models", label: "Models", counts: "model" },
  ...ofKinds,
  { path: "notes", label: "Notes" },
  { path: "settings", label: "Settings", fullName: "Project settings" },
];
