import { describe, expect, it } from 'vitest';
import { problems } from './fixture.ts';

const site = 'site: { id: "4711", dealer_id: "17", external_id: hq, timezone: Europe/Berlin }\n';
const rest = `bridge: { external_id: sw-1 }
partitions: [ { id: p1, name: A } ]
`;
const cloud = `cloud:
  base_url: https://api.example.net
  auth_url: https://auth.example.net
  events: { client_id: b, private_key: { env: KEY } }
  partner: { client_id: p, client_secret: { env: KEY } }
`;
const guard = `mqtt: { clients: [ { id: g1, role: guard, password: { env: KEY } }, { id: k1, role: keypad, password: { env: KEY } } ] }
`;
const bound = (contacts: string) => `verification: { contacts: [ ${contacts} ] }\n`;

describe('who answers alarm verifications', () => {
  it('may be users and guards, each with one contact', () => {
    const contacts = bound('{ user: anna, contact_id: 7 }, { client: g1, contact_id: 9 }');
    // The secrets are not there; nothing else is wrong.
    const told = problems(`${site}${rest}${cloud}${guard}${contacts}`);
    expect(told.filter((line) => !line.includes('cannot be read: the variable is not set'))).toEqual([]);
  });

  it.each([
    [
      'without credentials of the partner interface',
      `${site}${rest}${bound('{ user: anna, contact_id: 7 }')}`,
      'verification.contacts: has no effect without cloud.partner',
    ],
    [
      'without the dealer of the site',
      `${site.replace('dealer_id: "17", ', '')}${rest}${cloud}${bound('{ user: anna, contact_id: 7 }')}`,
      'verification.contacts: has no effect without site.dealer_id',
    ],
    [
      'a client that is not there',
      `${site}${rest}${cloud}${guard}${bound('{ client: g2, contact_id: 7 }')}`,
      'verification.contacts[0].client: there is no such client',
    ],
    [
      'a client with another role',
      `${site}${rest}${cloud}${guard}${bound('{ client: k1, contact_id: 7 }')}`,
      'verification.contacts[0].client: this client has another role',
    ],
    [
      'a client of an external broker, which does not tell who publishes',
      `${site}${rest}${cloud}mqtt: { broker: "mqtt://127.0.0.1:1883" }\n${bound('{ client: g1, contact_id: 7 }')}`,
      'verification.contacts[0].client: has no effect with an external broker',
    ],
    [
      'somebody twice',
      `${site}${rest}${cloud}${bound('{ user: anna, contact_id: 7 }, { user: anna, contact_id: 8 }')}`,
      'verification.contacts[1].user: this user has a contact already',
    ],
    [
      'nobody',
      `${site}${rest}${cloud}${bound('{ contact_id: 7 }')}`,
      'verification.contacts[0]: must name either a user or a client',
    ],
    [
      'a contact as text',
      `${site}${rest}${cloud}${bound('{ user: anna, contact_id: "7" }')}`,
      'verification.contacts[0].contact_id: must be a number',
    ],
  ])('%s is told with its place', (_, text, expected) => {
    const told = problems(text);
    expect(told.join('\n')).toContain(expected);
    expect(told.every((line) => /:\d+:\d+ /.test(line) || /^\d+:\d+ /.test(line))).toBe(true);
  });
});
