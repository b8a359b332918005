import { z } from 'zod';
import { duration } from '#lib/duration.ts';
import type { SupervisionPlan } from '#site/model/index.ts';

/** How long a loss lasts before it is reported; it shows on the LAN and in `siteward status` at once. */
const reportAfter = (usual: string, what: string) =>
  duration({ min: '0s', max: '1h' })
    .prefault(usual)
    .describe(`How long ${what} before that is reported, with the time it began; it shows on the site at once.`);

/** The cloud missed two heartbeats, and 75 s more. */
const cloudReportMs = (heartbeatMs: number): number => 2 * heartbeatMs + 75_000;

/** The `supervision:` section: links, their losses, and what comes and goes. */
export const supervisionOptions = z.strictObject({
  cloud: z
    .strictObject({
      heartbeat: duration({ min: '10s', max: '1h' })
        .prefault('60s')
        .describe('How often an idle line to the cloud is tried: the server must answer and give a token.'),
      report_after: duration({ min: '0s', max: '2h' })
        .optional()
        .describe('How long the cloud takes no events before that is reported; two heartbeats and 75s when left out.'),
    })
    .prefault({})
    .describe('The line to the cloud.'),
  broker: z
    .strictObject({ report_after: reportAfter('10s', 'the broker cannot be reached') })
    .prefault({})
    .describe('The MQTT broker.'),
  panels: z
    .strictObject({ report_after: reportAfter('10s', 'a panel or its bridge is away') })
    .prefault({})
    .describe('Alarm panels; their arming state is frozen and commands are refused from the first moment.'),
  cameras: z
    .strictObject({ report_after: reportAfter('30s', 'a camera gives no events, or a speaker does not answer,') })
    .prefault({})
    .describe('Cameras, recorders and speakers.'),
  mains: z
    .strictObject({
      report_after: duration({ min: '0s', max: '180m' })
        .prefault('0s')
        .describe('How long the mains of a panel are away before that is reported; it shows on the site at once.'),
    })
    .prefault({})
    .describe('The mains power, as a panel tells it.'),
  unstable: z
    .strictObject({
      losses: z
        .int()
        .min(2)
        .max(20)
        .default(3)
        .describe('So many losses of one kind and device within the window are told once, as unstable.'),
      window: duration({ min: '1m', max: '24h' }).prefault('10m').describe('The window for that.'),
      quiet: duration({ min: '1m', max: '24h' })
        .prefault('10m')
        .describe('How long nothing may change before the end of an unstable trouble is told.'),
    })
    .prefault({})
    .describe('Troubles that come and go.'),
});

type SupervisionOptions = z.output<typeof supervisionOptions>;

/** As the core decides with it. */
export function supervisionPlan(options: SupervisionOptions): SupervisionPlan {
  const { cloud, broker, panels, cameras, mains, unstable } = options;
  return {
    reportAfterMs: {
      cloud: cloud.report_after ?? cloudReportMs(cloud.heartbeat),
      broker: broker.report_after,
      panel: panels.report_after,
      camera: cameras.report_after,
      acLoss: mains.report_after,
    },
    unstable: { changes: unstable.losses, windowMs: unstable.window, quietMs: unstable.quiet },
  };
}
