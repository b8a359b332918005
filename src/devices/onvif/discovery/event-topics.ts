import { firstNamed, ownNamespace, type XmlElement } from '#lib/xml.ts';
import type { Device } from '../device.ts';
import { ns } from '../soap.ts';

const maxTopics = 500;

/**
 * The topics a device says it has, in the spelling of the table (`notification.ts`), each once. Some firmware sends topics
 * it does not advertise, and advertises ones it never sends. Throws what `Device.call` throws.
 */
export async function eventTopics(device: Device, service: URL, signal: AbortSignal): Promise<readonly string[]> {
  const action = `${ns.events}/EventPortType/GetEventPropertiesRequest`;
  const { body } = await device.call({
    name: 'GetEventProperties',
    action,
    body: `<e:GetEventProperties xmlns:e="${ns.events}"/>`,
    url: service,
    to: { address: service.href, parameters: [] },
    timeoutMs: 10_000,
    optional: true,
    signal,
  });
  return topicsIn(body);
}

/** Total: whatever the tree is, some list comes out. */
export function topicsIn(answer: XmlElement): readonly string[] {
  const set = firstNamed(answer, 'TopicSet');
  const found = new Set<string>();
  if (set !== undefined) for (const child of set.children) walk(child, [], found);
  return [...found].sort();
}

/** A topic is described, or marked with nothing below it; firmware marks also what lies only on the way. */
function walk(element: XmlElement, above: readonly string[], found: Set<string>): void {
  if (found.size >= maxTopics || element.name === 'MessageDescription') return;
  const path = [...above, segmentOf(element)];
  const marked = /^(true|1)$/i.test(element.attributes.topic ?? '');
  const described = element.children.some(({ name }) => name === 'MessageDescription');
  if (described || (marked && element.children.length === 0)) found.add(path.join('/'));
  for (const child of element.children) walk(child, path, found);
}

/** As the notifications write it: without a prefix in ONVIF's own namespace or in none. */
function segmentOf(element: XmlElement): string {
  const { name, prefix } = element;
  const uri = ownNamespace(element);
  const plain = name.slice(0, 80);
  const own = prefix === '' || uri === ns.topics || (uri === '' && /^tns1?$/.test(prefix));
  return own ? plain : `${vendorPrefixes[uri] ?? prefix.slice(0, 20)}:${plain}`;
}

const vendorPrefixes: Readonly<Record<string, string>> = {
  'http://www.axis.com/2009/event/topics': 'tnsaxis',
  'http://www.hikvision.com/2011/event/topics': 'tnshik',
  'http://www.samsungcctv.com/2011/event/topics': 'tnssamsung',
};
