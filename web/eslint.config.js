import { readdirSync } from "node:fs";

import a11y from "eslint-plugin-jsx-a11y";
import hooks from "eslint-plugin-react-hooks";
import tseslint from "typescript-eslint";

const FEATURES = readdirSync(new URL("./src/features", import.meta.url));

/** Imports point down: app → features → charts | ui | kinds → format → api; `|` means that they do not know each other. */
const BOUNDARIES = [
  boundary("src/api", "(app|features|charts|ui|kinds|format)/", "api imports nothing of the page but itself"),
  boundary("src/format", "(app|features|charts|ui|kinds)/", "format imports api only"),
  boundary("src/charts", "(app|features|ui|kinds)/", "charts import format and api only"),
  boundary("src/ui", "(app|features|charts|kinds)/", "ui imports format and api only"),
  boundary("src/kinds", "(app|features|charts|ui)/", "kinds import format and api only"),
  ...FEATURES.map((name) => boundary(`src/features/${name}`, `(app|features/(?!${name}/))`, `${name} imports neither app nor another feature`)),
  boundary("tests/kinds", "(app|features)/", "a kind of an installation imports what every feature may"),
];

function boundary(folder, forbidden, why) {
  const message = `${why} (eslint.config.js)`;
  return {
    files: [`**/${folder}/**/*.{ts,tsx}`],
    rules: {
      "no-restricted-imports": [
        "error",
        {
          patterns: [
            { regex: `^@/${forbidden}`, message },
            { regex: "^\\.", message: "Import files of the page as @/…" },
          ],
        },
      ],
      // The rule above does not see what is loaded when it is needed.
      "no-restricted-syntax": ["error", { selector: `ImportExpression[source.value=/^@\\u002f${forbidden.replaceAll("/", "\\u002f")}/]`, message }],
    },
  };
}

// Paths begin with `**`: it runs one folder up (`npm run lint`), where the kinds of tests lie too, and editors run it here.
export default tseslint.config(
  { ignores: ["**/*.gen.ts"] },
  { linterOptions: { reportUnusedDisableDirectives: "error" } },
  {
    files: ["**/src/**/*.{ts,tsx}", "**/tests/kinds/*.tsx", "**/vite.config.ts", "**/vitest.config.ts"],
    extends: [...tseslint.configs.strictTypeChecked, hooks.configs.flat["recommended-latest"], a11y.flatConfigs.strict],
    languageOptions: { parserOptions: { project: "./tsconfig.json", tsconfigRootDir: import.meta.dirname } },
    rules: {
      // Numbers are written into texts everywhere, and read well there.
      "@typescript-eslint/restrict-template-expressions": ["error", { allowNumber: true }],
      // `onClick={() => setOpen(true)}` is how handlers are written.
      "@typescript-eslint/no-confusing-void-expression": ["error", { ignoreArrowShorthand: true }],
      // It tells what the React Compiler would leave out; we do not use it.
      "react-hooks/incompatible-library": "off",
      // What scrolls must be reachable by keyboard, and the graph is walked with the arrow keys.
      "jsx-a11y/no-noninteractive-tabindex": ["error", { tags: [], roles: ["tabpanel", "region", "application"] }],
    },
  },
  {
    // Its indices are of arrays that it made itself: a guard in each line would only hide a mistake.
    files: ["**/src/features/graph/layered.ts", "**/src/features/graph/layered.test.ts"],
    rules: { "@typescript-eslint/no-non-null-assertion": "off" },
  },
  ...BOUNDARIES,
);
