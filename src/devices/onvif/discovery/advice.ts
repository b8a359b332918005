/** What to do about a step that failed, for people who stand before the camera. */

export const unreachableAdvice = (found: string | undefined, alive: boolean): readonly string[] =>
  found !== undefined
    ? [`ONVIF answers at ${found}: use that address.`]
    : alive
      ? [
          'The device is there, but ONVIF was not found at the usual ports: is ONVIF switched on in it, and at which port?',
          'Give the port with the address, as 192.0.2.10:8899.',
        ]
      : [
          'Check power, cable and address. Is this machine in the network of the camera?',
          'Look for it: siteward camera discover, or with its network: siteward camera discover 192.0.2.0/24',
        ];

export const onvifAdvice = (url: URL): readonly string[] => [
  'Switch ONVIF on in the camera (Hikvision: Network, Advanced, Integration Protocol; Reolink: Network, Advanced, Server Settings; Tapo: it needs a camera account).',
  `The port may be that of its web page: look for another one with siteward camera discover ${url.hostname}`,
  ...(url.protocol === 'http:' ? ['It may take https only: try the address with https://.'] : []),
];

export const loginAdvice = ({ given, clockWrong }: { given: boolean; clockWrong: boolean }): readonly string[] =>
  given
    ? [
        'siteward stops here: many cameras lock the account after a few more tries. Wait half an hour if it may be locked already.',
        'Hikvision wants an ONVIF user of its own (Network, Advanced, Integration Protocol); its web user is not one.',
        'Tapo wants the camera account of its app (Advanced Settings), not that of TP-Link. Axis, Dahua: the user needs ONVIF rights.',
        ...(clockWrong
          ? ['Its clock is wrong, and some cameras refuse the right password then: set its clock and try again.']
          : []),
      ]
    : ['Name the user: --user NAME. The password is asked for. Make a user for siteward alone in the camera.'];

export const pictureAdvice: readonly string[] = [
  'siteward takes its pictures of alarms there. Some cameras serve pictures at another port or over https: set snapshot_url.',
  'Tapo and some battery cameras serve none; alarms then go out without a picture.',
];

export const subscriptionAdvice = (full: boolean): readonly string[] =>
  full
    ? [
        'All its event subscriptions are taken: by another recorder or app, or left over. End those, or restart the camera.',
        'Some (Reolink) allow one subscriber only.',
      ]
    : [
        'Without this no event arrives. Does the user have the right to events (operator or administrator)?',
        'Update the firmware; some recorders (Milestone) give no events over ONVIF at all.',
      ];
