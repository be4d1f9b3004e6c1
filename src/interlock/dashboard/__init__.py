"""The dashboard: pages made on the server, under /ui, that keep themselves up to date.

Every page is a URL that works without any script. With the script, a page hears over server-sent events that
something it shows has changed, asks for itself again with its reader's own rights, and takes over what is different;
a hint that is lost does no harm. Forms post to the page's own address and are answered with a redirect. They carry
the CSRF token of the login, the `seq` that the reader saw, and a key, so that sending one twice does it once.
"""
