package deliver

import "sluice/internal/base/config/file"

// hideVariables hides what variables have put into a value.
func hideVariables(n *file.Node) {
	for m := range n.Members() {
		for name, v := range m.Variables() {
			m.Hide(name, v)
		}
	}
}

// Read reads the value deliver of a channel of the configuration file. A schema has checked it.
// Values of variables are hidden, since the URL may hold a key. ok is false if the webhook cannot
// be used; the file has a fault then.
func Read(channel string, n *file.Node) (cfg Config, ok bool) {
	cfg.Channel = channel
	n.Decode(&cfg)
	hideVariables(n)
	url, hasURL := n.Get("url").Text()
	secret, hasSecret := n.Get("secret").Text()
	if !hasURL || !hasSecret {
		return cfg, false // the schema has said so
	}
	if err := checkURL(url); err != nil {
		n.Get("url").Fault(err.Error())
	}
	switch _, err := decodeKey(secret); {
	case !isVariable(n.Get("secret"), secret):
		n.Get("secret").Fault("must be written as ${NAME}: a secret does not belong into the file")
	case err != nil:
		n.Get("secret").Fault(err.Error())
	}
	return cfg, n.Sound()
}

// isVariable reports whether a value is that of one variable and nothing else.
func isVariable(n *file.Node, value string) bool {
	count, same := 0, false
	for _, v := range n.Variables() {
		count++
		same = v.Reveal() == value
	}
	return count == 1 && same
}
