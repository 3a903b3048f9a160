//! spider. Bare: respect_robots_txt, delay, concurrency_limit 1, one Website for each site.
//! https://docs.rs/spider/latest/spider/website/struct.Website.html
//! Behind a proxy: with_proxies, and no delay of its own.
//! Usage: peer FILE-OF-URLS, with PEER_DELAY_MS

use spider::website::Website;
use spider::{hashbrown::HashSet, tokio, CaseInsensitiveString};
use std::collections::BTreeMap;

#[tokio::main]
async fn main() {
    let file = std::env::args().nth(1).expect("a file of URLs");
    let text = std::fs::read_to_string(file).expect("a file of URLs");
    let proxy = std::env::var("http_proxy").ok();
    let delay: u64 = std::env::var("PEER_DELAY_MS").ok().and_then(|ms| ms.parse().ok()).unwrap_or(1000);
    let mut sites: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for url in text.lines() {
        let origin = url.splitn(4, '/').take(3).collect::<Vec<_>>().join("/");
        sites.entry(origin).or_default().push(url.to_string());
    }
    let mut running = Vec::new();
    for (origin, urls) in sites {
        let proxy = proxy.clone();
        running.push(tokio::spawn(async move {
            let mut website = Website::new(&format!("{origin}/"));
            website
                .with_respect_robots_txt(true)
                .with_user_agent(Some("peerbot/1 (+https://example.com/bot)"))
                .with_concurrency_limit(Some(1))
                .with_delay(if proxy.is_some() { 0 } else { delay });
            if let Some(address) = proxy {
                website.with_proxies(Some(vec![address]));
            }
            let links: HashSet<CaseInsensitiveString> = urls.iter().map(|url| url.as_str().into()).collect();
            website.set_extra_links(links);
            website.crawl_raw().await;
        }));
    }
    for one in running {
        let _ = one.await;
    }
}
