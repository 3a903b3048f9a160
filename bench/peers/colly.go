// colly. Bare: IgnoreRobotsTxt false, and one LimitRule for each site: Delay, Parallelism 1.
// https://go-colly.org/docs/examples/rate_limit/ · https://pkg.go.dev/github.com/gocolly/colly/v2#LimitRule
// Behind a proxy: http_proxy and https_proxy are read, and no Delay of its own.
// Usage: colly FILE-OF-URLS, with PEER_DELAY_MS
package main

import (
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/gocolly/colly/v2"
)

func main() {
	text, err := os.ReadFile(os.Args[1])
	if err != nil {
		panic(err)
	}
	urls := strings.Fields(string(text))
	ms, _ := strconv.Atoi(os.Getenv("PEER_DELAY_MS"))
	delay := time.Duration(ms) * time.Millisecond
	if os.Getenv("http_proxy") != "" {
		delay = 0
	}
	crawler := colly.NewCollector(colly.Async(true), colly.UserAgent("peerbot/1 (+https://example.com/bot)"))
	crawler.IgnoreRobotsTxt = false
	known := map[string]bool{}
	for _, one := range urls {
		parsed, _ := url.Parse(one)
		if known[parsed.Host] {
			continue
		}
		known[parsed.Host] = true
		crawler.Limit(&colly.LimitRule{DomainGlob: parsed.Host, Delay: delay, Parallelism: 1})
	}
	for _, one := range urls {
		crawler.Visit(one)
	}
	crawler.Wait()
}
