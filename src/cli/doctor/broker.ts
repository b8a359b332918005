import { once } from 'node:events';
import { connect as connectTo } from 'node:net';
import { namedBroker, slugOf } from '#box/broker.ts';
import { panelTopics, profileFolders } from '#box/folders.ts';
import type { Settings } from '#config/index.ts';
import { describe } from '#errors.ts';
import { rootOf, type TopicSpec, topicTable } from '#lan/mqtt/index.ts';
import { hostAndPort } from '#lib/host.ts';
import { clientOptions, openClient, subscribe } from '#lib/mqtt.ts';
import { unlessAborted } from '#lib/wait.ts';
import { docPage } from '../doc-page.ts';
import { type Check, type Finding, failed, good, noDaemon, silent, skipped, warning } from './finding.ts';

const means = 'panels behind the broker are not heard, and keypads and Home Assistant see no state';

/** Whether the broker lets siteward in, and hear and say all it has to. */
export const brokerCheck: Check = {
  id: 'broker',
  title: 'MQTT broker and its rights',
  patienceMs: 30_000,
  look({ settings, file, daemon: { status, pid } }, signal): readonly Finding[] | Promise<readonly Finding[]> {
    if (settings === undefined) return [skipped('the configuration has errors')];
    if (settings.mqtt.broker !== 'embedded') return outside(settings, file, signal);
    const part = status?.parts.find(({ name }) => name === 'broker');
    if (part === undefined) return [pid === undefined ? noDaemon('the broker is part of it') : skipped(silent)];
    if (part.state === 'ok') {
      const own = good(`part of siteward, on ${settings.mqtt.listen}; it gives rights by itself`);
      return beside(settings.mqtt.listen, signal).then((other) => (other === undefined ? [own] : [own, other]));
    }
    return [
      failed({
        seen: part.reason ?? 'it does not listen',
        means,
        advice: [
          'where another program has the port ("ss -ltnp" as root names it) and nobody needs it, stop it for good, such as "systemctl disable --now mosquitto"; siteward tries again by itself',
          `or have siteward use the mosquitto of this machine: "broker: mqtts://127.0.0.1:8884" under mqtt, then "siteward mqtt provision" as root (${docPage('mqtt.md')})`,
          'or set mqtt.listen to a free port, and tell the panel bridges',
        ],
      }),
    ];
  },
};

/**
 * A mosquitto that was installed beside siteward finds 127.0.0.1 taken and goes on with ::1 alone, which is what "localhost" is for
 * many programs.
 */
async function beside(listen: string, signal: AbortSignal): Promise<Finding | undefined> {
  const { host, port } = hostAndPort(listen);
  if (!['127.0.0.1', 'localhost'].includes(host)) return undefined;
  const socket = connectTo({ host: '::1', port });
  try {
    await once(socket, 'connect', { signal: AbortSignal.any([signal, AbortSignal.timeout(besideMs)]) });
  } catch {
    signal.throwIfAborted();
    return undefined;
  } finally {
    socket.destroy();
  }
  return warning({
    subject: `[::1]:${port}`,
    seen: 'another program listens there, often a mosquitto',
    means: 'a panel bridge or program that connects to "localhost" may reach that one, and siteward does not hear it',
    advice: [
      `have them connect to 127.0.0.1:${port}`,
      'or stop it for good where nobody needs it, such as "systemctl disable --now mosquitto"',
    ],
  });
}

const besideMs = 2000;

async function outside(settings: Settings, file: string, signal: AbortSignal): Promise<readonly Finding[]> {
  const { mqtt } = settings;
  let client: Awaited<ReturnType<typeof openClient>> | undefined;
  try {
    const connect = namedBroker(settings);
    client = await openClient(connect, {
      ...clientOptions(connect),
      // Only version 5 tells who writes that he may not.
      protocolVersion: 5,
      clean: true,
      clientId: `siteward-doctor-${process.pid}`,
    });
    await unlessAborted(connected(client), signal);
    return [good(`${mqtt.broker} lets siteward in`), ...(await rights(client, settings, file, signal))];
  } catch (error) {
    signal.throwIfAborted();
    return [
      failed({
        subject: mqtt.broker,
        seen: describe(error),
        means,
        advice: [
          'check that it runs ("systemctl status mosquitto") and listens at this address',
          'check mqtt.username, mqtt.password and mqtt.ca; "siteward mqtt provision" writes passwords and rights for mosquitto',
        ],
      }),
    ];
  } finally {
    client?.end(true);
  }
}

function connected(client: Awaited<ReturnType<typeof openClient>>): Promise<void> {
  return new Promise((resolve, reject) => {
    client.once('connect', () => resolve());
    client.once('error', reject);
    client.once('close', () => reject(new Error('the broker closed the connection')));
  });
}

/** Nobody is told anything: what is written clears a topic of a partition that no site has. */
const nobody = 'partition/doctor/detail';

async function rights(
  client: Awaited<ReturnType<typeof openClient>>,
  settings: Settings,
  file: string,
  signal: AbortSignal,
): Promise<readonly Finding[]> {
  const root = rootOf(slugOf(settings.site.external_id));
  const specs: readonly TopicSpec[] = Object.values(topicTable);
  const own = specs
    .filter(({ read }) => read.includes('siteward'))
    .map(({ topic }) => `${root}/${topic.replaceAll(/\{\w+\}/g, '+')}`);
  const filters = [...new Set([...own, ...panelTopics(settings, profileFolders(file))().tells])];
  const advice = `give siteward the rights: "siteward mqtt provision" writes them for mosquitto; ${docPage('mqtt.md')} has the table`;
  const refused: Finding[] = [];
  for (const filter of filters) {
    try {
      await unlessAborted(subscribe(client, [filter]), signal);
    } catch (error) {
      signal.throwIfAborted();
      refused.push(
        failed({ subject: filter, seen: describe(error), means: 'what is said there is not heard', advice }),
      );
    }
  }
  try {
    await unlessAborted(client.publishAsync(`${root}/${nobody}`, '', { qos: 1, retain: true }), signal);
  } catch (error) {
    signal.throwIfAborted();
    const what = {
      subject: `${root}/#`,
      seen: `writing is refused: ${describe(error)}`,
      means: 'nobody sees any state',
      advice,
    };
    refused.push(failed(what));
  }
  return refused.length > 0 ? refused : [good(`may hear ${filters.length} topics, and write`, 'rights')];
}
