import { Button } from "@mantine/core";
import { Link } from "@tanstack/react-router";

import { Empty } from "@/ui/Empty";

export function NotFound() {
  return (
    <Empty
      title="There is nothing at this address"
      actions={
        <Button component={Link} to="/">
          All projects
        </Button>
      }
    >
      What was here may have been deleted.
    </Empty>
  );
}
