import { isIP } from 'node:net';
import { z } from 'zod';
import { listenAddress } from '#lib/listen-address.ts';
import { secretRef } from '#lib/secret-ref.ts';
import { roles } from './table.ts';

/** Roles a configuration may give: neither siteward's own nor that of whoever has no name. */
const clientRole = z.enum(roles).exclude(['siteward', 'local']);

const hostName = /^[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?(\.[A-Za-z0-9]([A-Za-z0-9-]{0,61}[A-Za-z0-9])?){0,8}$/;

/** The `mqtt:` part of the configuration. */
export const mqttOptions = z
  .strictObject({
    broker: z
      .union([z.literal('embedded'), z.string().regex(/^mqtts?:\/\/[^\s/@?#]+:\d{1,5}$/)], {
        error: 'must be "embedded", mqtt://HOST:PORT or mqtts://HOST:PORT',
      })
      .default('embedded')
      .describe('The MQTT broker: "embedded" brings its own, otherwise the address of one on the LAN'),
    listen: listenAddress('127.0.0.1:1883')
      .default('127.0.0.1:1883')
      .describe('Where the embedded broker listens; beyond loopback every client needs a name and a password'),
    tls: z
      .boolean()
      .default(true)
      .describe(
        'Whether the embedded broker speaks TLS beyond loopback; false only in a network of its own, for panel bridges that know none',
      ),
    username: z.string().min(1).max(64).optional().describe('User name at an external broker'),
    password: secretRef.optional().describe('Where the password for an external broker lies'),
    ca: z.string().min(1).optional().describe('File with the certificate authority of an mqtts:// broker, PEM'),
    names: z
      .array(z.string().refine((name) => isIP(name) > 0 || hostName.test(name), 'must be a host name or an IP address'))
      .max(16)
      .default([])
      .describe('What clients call this machine, besides its own name and addresses; its certificate stands for them'),
    clients: z
      .array(
        z.strictObject({
          id: z
            .string()
            .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ or -')
            .refine((id) => id !== 'siteward', '"siteward" is the name of the daemon itself')
            .describe('User name of the client; its replies arrive under reply/<id>/'),
          role: clientRole.describe('What the client may see and do'),
          password: secretRef
            .optional()
            .describe('Where the password of the client lies; mosquitto may have one that siteward does not know'),
          panels: z
            .array(z.string().min(1).max(64))
            .min(1)
            .optional()
            .describe('For the role bridge: its panels, whose topics alone it gets'),
        }),
      )
      .max(64)
      .default([])
      .refine((list) => new Set(list.map((client) => client.id)).size === list.length, 'must not name a client twice')
      .describe('Clients of the embedded broker, and of mosquitto by "siteward mqtt provision"'),
    retain_images: z
      .boolean()
      .default(false)
      .describe(
        'Whether the last picture of each camera stays at the broker, for whoever comes later; false clears what is there',
      ),
    home_assistant: z
      .strictObject({
        prefix: z
          .string()
          .regex(/^[A-Za-z0-9_-]{1,64}(\/[A-Za-z0-9_-]{1,64}){0,3}$/, 'must be a topic of letters, digits, _, - and /')
          .refine((prefix) => !/^siteward(\/|$)/.test(prefix), "must not lie among siteward's own topics")
          .default('homeassistant')
          .describe('The discovery prefix of Home Assistant, as set there'),
      })
      .optional()
      .describe('Home Assistant finds this site by itself; {} is enough. Without this key it sees nothing'),
  })
  .superRefine(({ broker, clients }, context) => {
    for (const [index, { role, password, panels }] of clients.entries()) {
      if (broker === 'embedded' && password === undefined)
        context.addIssue({
          code: 'custom',
          path: ['clients', index],
          message:
            'needs a password at the embedded broker; for mosquitto, write "broker: mqtts://127.0.0.1:8884" and run "siteward mqtt provision"',
        });
      if (panels !== undefined && role !== 'bridge')
        context.addIssue({
          code: 'custom',
          path: ['clients', index, 'panels'],
          message: 'is for the role bridge only',
        });
    }
  })
  .describe('The LAN message bus');
