import { probeMatches, startResponder } from '../devices/onvif/responder.ts';
import { cameraModel, fault, startCamera } from '../devices/onvif/scripted-camera.ts';
import { siteward } from './run-cli.ts';

/**
 * Runs inside a network namespace with the interfaces v0 (192.0.2.1) and w0 (198.51.100.1): four devices that are heard on
 * one interface and one family each, or on both families, and the command that looks for them.
 */
const locked = cameraModel({
  before: ({ operation }) => (operation === 'GetSystemDateAndTime' ? undefined : fault('NotAuthorized')),
});
const at = (host: string) => startCamera(locked.script, 0, undefined, host);
const [four, other, six, both] = [
  await at('192.0.2.1'),
  await at('198.51.100.1'),
  await at('198.51.100.1'),
  await at('192.0.2.1'),
];

const port = 3702;
const group4 = '239.255.255.250';
const responders = [
  await startResponder(
    ({ messageId, from }) =>
      from.address === '192.0.2.1' || from.address === '192.0.2.200'
        ? [
            probeMatches(messageId, [
              { endpoint: 'uuid:four', xaddrs: four.url },
              { endpoint: 'uuid:both', xaddrs: both.url },
            ]),
          ]
        : [probeMatches(messageId, [{ endpoint: 'uuid:other', xaddrs: other.url }])],
    {
      port,
      groups: [
        [group4, '192.0.2.1'],
        [group4, '198.51.100.1'],
      ],
    },
  ),
  await startResponder(
    ({ messageId, from }) =>
      from.address.endsWith('%w0')
        ? [
            probeMatches(messageId, [
              { endpoint: 'uuid:six', xaddrs: `http://[fe80::2:1]/onvif/device_service ${six.url}` },
            ]),
          ]
        : [probeMatches(messageId, [{ endpoint: 'urn:uuid:BOTH', xaddrs: both.url }])],
    {
      family: 'udp6',
      port,
      groups: [
        ['ff02::c', '::%v0'],
        ['ff02::c', '::%w0'],
      ],
    },
  ),
];

/** All but the last of this range are nobody's. */
const range = ['192.0.2.2-200'];
const args = process.argv[2] === 'range' ? range : [];
const { out, err } = await siteward(['camera', 'discover', ...args, '--for', '2s', '--json', '--config', '/none.yaml']);
process.stdout.write(out);
process.stderr.write(err);
for (const responder of responders) await responder.close();
for (const camera of [four, other, six, both]) await camera.close();
