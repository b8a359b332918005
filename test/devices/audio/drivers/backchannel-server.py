"""Cameras with an audio backchannel (ONVIF streaming specification, 5.3), served by GStreamer: rtsp://127.0.0.1:PORT/speaker0

Takes its settings as JSON in the first argument, writes its port to stdout, and ends when its stdin does. What speaker N was sent
is added to FOLDER/N.raw, decoded: 16 bits, 8 kHz.
"""
import json
import sys

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstRtsp', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

settings = json.loads(sys.argv[1])
name, payload, decode = {
    'ulaw': ('PCMU', 0, 'rtppcmudepay ! mulawdec'),
    'alaw': ('PCMA', 8, 'rtppcmadepay ! alawdec'),
}[settings['encoding']]
seen = 'audiotestsrc is-live=true wave=silence ! audio/x-raw,rate=8000,channels=1 ! mulawenc'
caps = f'application/x-rtp,media=audio,payload={payload},clock-rate=8000,encoding-name={name}'


def demand(user, server, factories):
    token = GstRtspServer.RTSPToken()
    token.set_string('media.factory.role', 'user')
    auth = GstRtspServer.RTSPAuth()
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    auth.add_digest(user['username'], user['password'], token)
    server.set_auth(auth)
    for factory in factories:
        permissions = GstRtspServer.RTSPPermissions()
        permissions.add_role('user')
        for allowed in ('media.factory.access', 'media.factory.construct'):
            permissions.add_permission_for_role('user', allowed, True)
        factory.set_permissions(permissions)


def speaker(number):
    factory = GstRtspServer.RTSPOnvifMediaFactory.new()
    # Nobody wants to hear the camera: in some runs its media ended over that.
    factory.set_launch(f'( {seen} ! errorignore ignore-notlinked=true convert-to=ok ! rtppcmupay name=pay0 pt=0 )')
    factory.set_backchannel_launch(
        f'( capsfilter caps="{caps}" name=depay_backchannel ! {decode}'
        f' ! filesink location={settings["folder"]}/{number}.raw append=true async=false sync=false buffer-mode=2 )'
    )
    factory.set_media_gtype(GstRtspServer.RTSPOnvifMedia.__gtype__)
    # Each session with its own part of the camera.
    factory.set_shared(False)
    # What it holds at the end of a session it throws away.
    factory.set_latency(0)
    return factory


Gst.init(None)
loop = GLib.MainLoop()
server = GstRtspServer.RTSPOnvifServer.new()
server.set_address('127.0.0.1')
server.set_service('0')
# It stands for many cameras, which are all connected to at once; more than five would wait for a second.
server.set_backlog(64)
factories = [speaker(number) for number in range(settings['speakers'])]
for number, factory in enumerate(factories):
    server.get_mount_points().add_factory(f'/speaker{number}', factory)
if 'user' in settings:
    demand(settings['user'], server, factories)
server.attach(None)
print(server.get_bound_port(), flush=True)
GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.HUP, lambda *_: loop.quit())
loop.run()
