"""A camera's stream for the tests, served by GStreamer: rtsp://127.0.0.1:PORT/cam

Takes its settings as JSON in the first argument, writes its port to stdout, and ends when its stdin does. Every picture
carries a number of 16 bits, as 4 x 4 black or white blocks: the count of picture times since `zero` (CLOCK_MONOTONIC).
"""
import json
import os
import sys
import time

import gi

gi.require_version('Gst', '1.0')
gi.require_version('GstRtsp', '1.0')
gi.require_version('GstRtspServer', '1.0')
from gi.repository import GLib, Gst, GstRtsp, GstRtspServer  # noqa: E402

settings = json.loads(sys.argv[1])
fps, gap = settings['fps'], settings['keyFrameEvery']
rate = f' bitrate={settings["kbps"]}' if 'kbps' in settings else ''
width, height = 320, 240
encoders = {
    'h264': f'x264enc tune=zerolatency threads=1 speed-preset=ultrafast{rate} key-int-max={gap}'
    # One slice a picture: of several, each with its parameters before it, readers make several pictures.
    ' option-string=scenecut=0:sliced-threads=0'
    ' ! video/x-h264,stream-format=avc ! rtph264pay name=pay0 pt=96 config-interval=-1',
    'h265': f'x265enc tune=zerolatency speed-preset=ultrafast{rate} key-int-max={gap} option-string=scenecut=0'
    ' ! h265parse ! rtph265pay name=pay0 pt=96 config-interval=-1',
}
live = 'is-live=true do-timestamp=true format=time'
silence = f' appsrc name=sound {live} caps=audio/x-alaw,rate=8000,channels=1 ! rtppcmapay name=pay1 pt=8'


def picture(number):
    rows = b''
    for row in range(4):
        bits = (number >> (4 * row)) & 15
        line = b''.join((b'\xeb' if bits >> column & 1 else b'\x10') * (width // 4) for column in range(4))
        rows += line * (height // 4)
    colours = width * height // 2
    # Noise, of which the encoder keeps as much as the rate allows.
    return rows + (os.urandom(colours) if rate else b'\x80' * colours)


def push(pictures, sound):
    number = (time.monotonic_ns() - int(settings['zero'])) * fps // 1_000_000_000
    if sound is not None:
        sound.emit('push-buffer', Gst.Buffer.new_wrapped(b'\xd5' * (8000 // fps)))
    return pictures.emit('push-buffer', Gst.Buffer.new_wrapped(picture(number & 0xFFFF))) == Gst.FlowReturn.OK


def drop_key_frame(_pad, info):
    is_key = not info.get_buffer().has_flags(Gst.BufferFlags.DELTA_UNIT)
    return Gst.PadProbeReturn.DROP if is_key else Gst.PadProbeReturn.OK


def configure(_factory, media):
    bin = media.get_element()
    GLib.timeout_add(1000 // fps, push, bin.get_by_name('pictures'), bin.get_by_name('sound'))
    if not settings['keyFrames']:
        bin.get_by_name('pay0').get_static_pad('sink').add_probe(Gst.PadProbeType.BUFFER, drop_key_frame)


def demand(user, factory, server):
    """Digest with MD5, all this server knows."""
    token = GstRtspServer.RTSPToken()
    token.set_string('media.factory.role', 'user')
    auth = GstRtspServer.RTSPAuth()
    auth.set_supported_methods(GstRtsp.RTSPAuthMethod.DIGEST)
    auth.add_digest(user['username'], user['password'], token)
    permissions = GstRtspServer.RTSPPermissions()
    permissions.add_role('user')
    for allowed in ('media.factory.access', 'media.factory.construct'):
        permissions.add_permission_for_role('user', allowed, True)
    factory.set_permissions(permissions)
    server.set_auth(auth)


Gst.init(None)
loop = GLib.MainLoop()
server = GstRtspServer.RTSPServer()
server.set_address('127.0.0.1')
server.set_service(str(settings['port']))
factory = GstRtspServer.RTSPMediaFactory()
factory.set_shared(True)
factory.set_launch(
    f'( appsrc name=pictures {live} caps=video/x-raw,format=I420,width={width},height={height},framerate={fps}/1'
    f' ! {encoders[settings["codec"]]}{silence if settings["audio"] else ""} )'
)
factory.connect('media-configure', configure)
server.get_mount_points().add_factory('/cam', factory)
if 'user' in settings:
    demand(settings['user'], factory, server)
server.attach(None)
print(server.get_bound_port(), flush=True)
GLib.io_add_watch(0, GLib.PRIORITY_DEFAULT, GLib.IOCondition.HUP, lambda *_: loop.quit())
loop.run()
