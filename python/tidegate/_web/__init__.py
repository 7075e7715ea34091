"""The base of every framework's room: options, one decision per request, and its settlement.

It knows no framework. Client addresses, headers and refusals are those of ``tidegate._http``.
"""
