import { Button, Card, Modal, Table, Tooltip, createTheme, type MantineColorsTuple } from "@mantine/core";

// The colour of the mark: a dark teal whose middle shades keep 4.5:1 on white and on the dark page.
const dyno: MantineColorsTuple = ["#e3fafc", "#c5f0f5", "#99e0ea", "#66cbdb", "#3bb5c8", "#15a0b5", "#0b8aa0", "#0b7285", "#095c6b", "#064652"];

export const theme = createTheme({
  primaryColor: "dyno",
  primaryShade: 7,
  colors: { dyno },
  autoContrast: true,
  defaultRadius: "md",
  cursorType: "pointer",
  fontFamily: "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif",
  fontFamilyMonospace: "ui-monospace, SFMono-Regular, Menlo, Consolas, monospace",
  headings: { fontWeight: "650" },
  components: {
    Button: Button.extend({ defaultProps: { size: "sm" } }),
    Card: Card.extend({ defaultProps: { withBorder: true, padding: "md" } }),
    Modal: Modal.extend({ defaultProps: { closeButtonProps: { "aria-label": "Close" } } }),
    Table: Table.extend({ defaultProps: { verticalSpacing: "xs" } }),
    Tooltip: Tooltip.extend({
      // For the keyboard, too: a reason that only a mouse finds is no reason.
      defaultProps: { events: { hover: true, focus: true, touch: true }, multiline: true, maw: 360, withArrow: true },
    }),
  },
});
