import type { ConfigDocument } from './document.ts';
import { at, type Entry, items } from './entries.ts';
import type { Problem } from './problem.ts';

/** What is written for Home Assistant and could have no effect: otherwise nobody knows why it sees nothing. */
export function homeAssistantChecks(document: ConfigDocument): Problem[] {
  const entries = items(document, 'mqtt', 'clients').map(({ path }) => at(document, [...path, 'role']));
  const clients = entries.filter(({ value }) => value === 'ha' || value === 'ha-trusted');
  const section = at(document, ['mqtt', 'home_assistant']);
  if (section.value === undefined) {
    return clients.map(({ path }) =>
      document.problem(path, {
        message: 'has no effect without mqtt.home_assistant',
        expected: 'mqtt.home_assistant: {}, so that Home Assistant finds the site',
      }),
    );
  }
  return [...unreachable(document, section, clients), ...clients.flatMap((entry) => trusted(document, entry))];
}

const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\]):\d+$/;

/** Beyond loopback the embedded broker lets nobody in without a name. */
function unreachable(document: ConfigDocument, { path }: Entry, clients: readonly Entry[]): Problem[] {
  const broker = at(document, ['mqtt', 'broker']).value ?? 'embedded';
  const listen = at(document, ['mqtt', 'listen']).value ?? '127.0.0.1:1883';
  if (broker !== 'embedded' || clients.length > 0 || loopback.test(String(listen))) return [];
  const expected = 'a client of mqtt.clients with the role ha, whose name and password Home Assistant logs in with';
  return [document.problem(path, { message: 'Home Assistant could not log in', expected }, 'key')];
}

function trusted(document: ConfigDocument, { path, value }: Entry): Problem[] {
  if (value !== 'ha-trusted') return [];
  if ((at(document, ['mqtt', 'broker']).value ?? 'embedded') !== 'embedded') {
    const expected = 'ha; an external broker does not tell who publishes';
    return [document.problem(path, { message: 'is no more than ha with an external broker', expected })];
  }
  if ((at(document, ['arming', 'disarm_code']).value ?? 'required') !== 'required') return [];
  const expected = 'ha, or arming.disarm_code: optional';
  return [document.problem(path, { message: 'is no more than ha while disarming takes a code', expected })];
}
