import { describe, expect, it } from 'vitest';
import { accessOf, mosquittoAcl } from '../../../src/lan/mqtt/acl.ts';
import { type Role, roles, topicSpecs } from '../../../src/lan/mqtt/table.ts';
import { matches } from '../../../src/lan/mqtt/topics.ts';
import { root } from './harness.ts';

/** One topic of each row; a name no other row has stands where the row leaves it open. */
const samples = topicSpecs.map((spec) => ({
  spec,
  topic: `${root}/${spec.topic.replace('{client}', 'me').replaceAll(/\{\w+\}/g, 'x-1')}`,
}));
const others = roles.filter((role) => role !== 'siteward');

/** The rights a file of mosquitto gives its only client. */
function rightsOf(acl: string) {
  const lines = acl.slice(acl.indexOf('user me\n')).split('\n').slice(1);
  const filters = (access: string) =>
    lines.filter((line) => line.startsWith(`topic ${access} `)).map((line) => line.slice(7 + access.length));
  const [readable, writable] = [filters('read'), filters('write')];
  return {
    read: (topic: string) => readable.some((filter) => matches(filter, topic)),
    write: (topic: string) => writable.some((filter) => matches(filter, topic)),
  };
}

describe.each<Role>(others)('what %s may do by the table', (role) => {
  it('is what the authoriser of the embedded broker and the ACL file of mosquitto let it do', () => {
    const authoriser = accessOf(root, role, 'me');
    const file = rightsOf(mosquittoAcl(root, [{ id: 'me', role }]));
    const list = (may: (topic: string) => boolean) => samples.map(({ topic }) => topic).filter(may);
    // A row with a name of its own, as event/arming, may be reached by a wider row too.
    const given = (access: 'read' | 'write') =>
      list((topic) => topicSpecs.some((spec) => spec[access].includes(role) && matches(filterOf(spec.topic), topic)));
    expect(list(authoriser.mayReceive)).toEqual(given('read'));
    expect(list(file.read)).toEqual(given('read'));
    expect(list(authoriser.mayPublish)).toEqual(given('write'));
    expect(list(file.write)).toEqual(given('write'));
  });
});

const filterOf = (topic: string) => `${root}/${topic.replace('{client}', 'me').replaceAll(/\{\w+\}/g, '+')}`;
