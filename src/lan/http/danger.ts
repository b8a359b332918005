import { z } from 'zod';
import type { By } from '#lan/access/index.ts';
import type { Handlers } from '#lib/contract/server.ts';
import type { Asker } from '#site/model/index.ts';
import { askerOf, json } from './answering.ts';
import { type ConfigSaved, configSaved } from './config-changes.ts';
import { jsonOf, lanOperation, problemResponse } from './lan-operation.ts';

/** What cannot be undone, or stops the bridge for a while: each takes the name of the site, typed by whoever asks. */

const confirm = z.string().max(255).describe('`site.external_id` of the configuration, as a proof that it is meant.');
const confirmBody = z.strictObject({ confirm });
const resetBody = z.strictObject({
  confirm,
  even_undelivered: z
    .boolean()
    .default(false)
    .describe('Also where events wait for the cloud, which then never learns of them.'),
});

const restartAnswer = z.object({
  /** When getStatus tells a smaller `uptime_s`, it is back. */
  restarting: z.literal(true),
});

export interface DangerPort {
  /**
   * Ends the process once the answer is out, and systemd starts it again. Rejects with `danger_refused` where nothing would
   * start it again, and with `request_invalid` where the name is not the site's.
   */
  restart(confirm: string, by: Asker): Promise<void>;
  /** Takes the cloud and its secrets out of the configuration; events that wait stay. Rejects as `ConfigPort.change`. */
  forgetCloud(confirm: string, by: Asker, signal: AbortSignal): Promise<ConfigSaved>;
  /**
   * Has the next start begin as on the first day: no accounts, users, events, pictures, devices or secrets. Rejects with
   * `danger_refused` where a partition is armed, where events wait and that was not said, or where nothing would start it.
   */
  factoryReset(wish: z.output<typeof resetBody>, by: Asker, signal: AbortSignal): Promise<void>;
}

const shared = { method: 'POST', repeatable: 'no', tags: ['danger'] } as const;
const wrongName = problemResponse('The name is not that of the site; nothing was done');

const restart = lanOperation({
  ...shared,
  id: 'restart',
  path: '/api/v1/danger/restart',
  summary: 'End siteward and have the system start it again; nothing is lost, alarms that come meanwhile are not heard',
  body: jsonOf(confirmBody),
  responses: {
    202: { description: 'It ends as soon as this is answered', ...jsonOf(restartAnswer) },
    400: wrongName,
    409: problemResponse('Nothing would start it again'),
  },
  rules: [],
});

const forgetCloud = lanOperation({
  ...shared,
  id: 'forgetCloud',
  path: '/api/v1/danger/forget-cloud',
  summary: 'Take the cloud and its credentials out of the configuration; events that wait are kept',
  body: jsonOf(confirmBody),
  responses: {
    200: { description: 'What was written', ...jsonOf(configSaved) },
    400: wrongName,
    409: problemResponse('There is no cloud, a partition is armed, or siteward may not write the file'),
    503: problemResponse('Another change is under way'),
  },
  rules: ['safety 2'],
});

const factoryReset = lanOperation({
  ...shared,
  id: 'factoryReset',
  path: '/api/v1/danger/factory-reset',
  summary: 'Forget accounts, users, events, pictures, devices and secrets, and begin anew with a claim code',
  body: jsonOf(resetBody),
  responses: {
    202: { description: 'It is done at the start that follows', ...jsonOf(restartAnswer) },
    400: wrongName,
    409: problemResponse('A partition is armed, events wait for the cloud, or nothing would start siteward again'),
  },
  rules: ['safety 2', 'safety 4'],
});

export const dangerOperations = { restart, forgetCloud, factoryReset } as const;

export function dangerHandlers(port: DangerPort): Handlers<typeof dangerOperations, By> {
  return {
    async restart({ body, identity }) {
      await port.restart(body.confirm, askerOf(identity));
      return json({ restarting: true }, 202);
    },
    forgetCloud: async ({ body, identity, signal }) =>
      json(await port.forgetCloud(body.confirm, askerOf(identity), signal)),
    async factoryReset({ body, identity, signal }) {
      await port.factoryReset(body, askerOf(identity), signal);
      return json({ restarting: true }, 202);
    },
  };
}
