package deliver

import (
	"time"

	"sluice/config"
	"sluice/config/file"
)

// Read reads the value deliver of a channel of the configuration file, which a schema has
// checked. It puts what no log may show into c.FileSecrets. ok is false if the webhook cannot be used;
// the file has a fault then.
func Read(channel string, n *file.Node, c *config.Config) (cfg Config, ok bool) {
	text, hasURL := n.Get("url").Text()
	secret, hasSecret := n.Get("secret").Text()
	if !hasURL || !hasSecret {
		return cfg, false // the schema has said so
	}
	ok = true
	if err := checkURL(text); err != nil {
		n.Get("url").Fault(err.Error())
		ok = false
	}
	switch _, err := key(secret); {
	case !isVariable(n.Get("secret"), secret):
		n.Get("secret").Fault("must be written as ${NAME}: a secret does not belong into the file")
		ok = false
	case err != nil:
		n.Get("secret").Fault(err.Error())
		ok = false
	}
	cfg = Config{Channel: channel, URL: config.Secret(text), Secret: config.Secret(secret)}
	if s, isGiven := n.Get("timeout").Text(); isGiven {
		d, err := time.ParseDuration(s)
		if err != nil || d < 100*time.Millisecond || d > 30*time.Second {
			n.Get("timeout").Fault("must be a duration from 100ms to 30s")
			ok = false
		}
		cfg.Timeout = d
	}
	cfg.Tries, _ = n.Get("tries").Int()
	hide("/channels/"+channel+"/deliver/", n, c)
	return cfg, ok
}

// isVariable says whether a value is that of one variable and nothing else.
func isVariable(n *file.Node, value string) bool {
	count, same := 0, false
	for _, v := range n.Variables() {
		count++
		same = v.Reveal() == value
	}
	return count == 1 && same
}

// hide keeps what variables have put in out of every log: of the URL it may be a key.
func hide(pointer string, n *file.Node, c *config.Config) {
	if c.FileSecrets == nil {
		c.FileSecrets = map[string]config.Secret{}
	}
	for m := range n.Members() {
		for name, v := range m.Variables() {
			c.FileSecrets[pointer+m.Name()+"/"+name] = v
		}
	}
}
