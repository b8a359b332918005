import { isIPv6 } from 'node:net';
import { SitewardError } from '#errors.ts';

const usual = '/onvif/device_service';

/**
 * The address of the device service from what a person types: a URL, or HOST, HOST:PORT or an IPv6 address. Throws
 * `request_invalid`, and never repeats the text, which may hold a password.
 */
export function deviceAddress(text: string): string {
  const url = URL.parse(text.includes('://') ? text : `http://${isIPv6(text) ? `[${text}]` : text}`);
  if (url === null || !/^https?:$/.test(url.protocol) || url.hostname === '')
    throw wrong('the address of a camera is a URL such as http://192.0.2.10/onvif/device_service, or its IP address');
  if (url.username !== '' || url.password !== '' || text.includes('@'))
    throw wrong('the address must not hold a user name or password: say --user, and the password is asked for');
  if (url.pathname === '/') url.pathname = usual;
  return url.href;
}

const wrong = (message: string) => new SitewardError('request_invalid', message);
