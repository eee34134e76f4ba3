import { Anchor, Button, Code, Group, SegmentedControl, Skeleton, Switch, Text, useMantineColorScheme } from "@mantine/core";
import { useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";

import { api, answerOf } from "@/api/client";
import { sessionQuery, systemQuery } from "@/api/queries";
import { Ago } from "@/ui/Ago";
import { Page } from "@/ui/Page";
import { SHORTCUTS_OFF } from "@/ui/pageKeys";
import { Section } from "@/ui/Section";
import { Trouble } from "@/ui/Trouble";

/** The settings stored in this browser, and how it is signed in. */
export function SettingsPage() {
  return (
    <Page title="Settings">
      <Look />
      <Keys />
      <Access />
      <About />
    </Page>
  );
}

function Look() {
  const { colorScheme, setColorScheme } = useMantineColorScheme();
  return (
    <Section title="Look">
      <Text size="sm" className="dim">
        Saved in this browser. “System” follows your computer's setting.
      </Text>
      <SegmentedControl
        style={{ alignSelf: "flex-start" }}
        aria-label="Theme"
        value={colorScheme}
        onChange={setColorScheme}
        data={[
          { value: "light", label: "Light" },
          { value: "dark", label: "Dark" },
          { value: "auto", label: "System" },
        ]}
      />
    </Section>
  );
}

function Keys() {
  const [isOff, setOff] = useState(() => localStorage.getItem(SHORTCUTS_OFF) !== null);
  const turn = (isOn: boolean) => {
    if (isOn) localStorage.removeItem(SHORTCUTS_OFF);
    else localStorage.setItem(SHORTCUTS_OFF, "1");
    setOff(!isOn);
  };
  return (
    <Section title="Keys">
      <Switch
        label="Single-key shortcuts"
        description="Turn them off if they get in the way of other tools. Ctrl+K stays."
        checked={!isOff}
        onChange={(event) => turn(event.currentTarget.checked)}
      />
    </Section>
  );
}

function Access() {
  const session = useQuery(sessionQuery);
  const leave = useMutation({
    mutationFn: () => answerOf(api.DELETE("/api/v1/session")),
    onSuccess: () => window.location.assign("/login"),
  });
  const by = session.data?.by;
  return (
    <Section title="Access">
      {session.isError && <Trouble error={session.error} retry={() => void session.refetch()} />}
      {session.isPending && <Skeleton height={40} />}
      {by === "open door" && (
        <Text size="sm">
          This server was started with <Code>--no-token</Code>: every program on this machine may use it, and there is no need to sign in.
        </Text>
      )}
      {by === "cookie" && (
        <Text size="sm">
          Signed in with a cookie in this browser
          {session.data?.until && (
            <>
              , which expires <Ago at={session.data.until} />
            </>
          )}
          .
        </Text>
      )}
      {by && by !== "open door" && (
        <Text size="sm" className="dim">
          Programs need the token: <Code>modeldyno token</Code> shows it, and <Code>modeldyno token --rotate</Code> creates a new one, which signs everyone out.
        </Text>
      )}
      {leave.isError && <Trouble error={leave.error} />}
      {by === "cookie" && (
        <Button variant="default" style={{ alignSelf: "flex-start" }} loading={leave.isPending} onClick={() => leave.mutate()}>
          Sign out
        </Button>
      )}
    </Section>
  );
}

function About() {
  const system = useQuery(systemQuery);
  return (
    <Section title="About">
      {system.isPending && <Skeleton height={20} width={200} />}
      {system.data && (
        <>
          <Text size="sm">Modeldyno {system.data.version}</Text>
          <Text size="sm" className="dim">
            Telemetry: {system.data.telemetry}.
          </Text>
        </>
      )}
      <Group gap="md">
        <Anchor href="/docs" size="sm">
          API reference
        </Anchor>
        <Anchor component={Link} to="/system" size="sm">
          This machine
        </Anchor>
      </Group>
    </Section>
  );
}
